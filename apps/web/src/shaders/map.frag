in vec3 v_place;
in vec3 v_normal;
in vec3 v_colour;
in float v_open;
out vec4 dot_colour;

void main() {
  dot_colour = vec4(shaded(v_colour, v_normal, v_open, v_place, 1.0), 1.0);
}
