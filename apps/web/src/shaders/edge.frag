in vec3 v_place;
in float v_across;
uniform vec3 eye;
uniform vec3 ink;
out vec4 dot_colour;

void main() {
  float near = 1.0 - smoothstep(12.0, 70.0, distance(v_place, eye));
  float cover = clamp(1.25 - abs(v_across), 0.0, 1.0);
  dot_colour = vec4(ink, 0.35 * (0.12 + 0.88 * near) * cover);
}
