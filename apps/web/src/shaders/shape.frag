in vec3 v_place;
in vec3 v_normal;
in vec4 v_look;
uniform float outline;
uniform vec3 ink;
out vec4 dot_colour;

void main() {
  if (outline > 0.0) {
    dot_colour = vec4(mix(ink, paper, fog(v_place) * 0.35), 1.0);
  } else if (v_look.w >= 3.0) {
    dot_colour = vec4(v_look.rgb, v_look.w - 3.0);
  } else if (v_look.w > 1.5) {
    dot_colour = vec4(mix(v_look.rgb, paper, fog(v_place) * 0.5), 1.0);
  } else {
    dot_colour = vec4(shaded(v_look.rgb, normalize(v_normal), 1.0, v_place, v_look.w > 0.5 ? 0.5 : 1.0), 1.0);
  }
}
