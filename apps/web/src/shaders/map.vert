layout(location = 0) in vec3 at;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec3 colour;
layout(location = 3) in float open;
uniform mat4 view;
uniform vec3 offset;
out vec3 v_place;
out vec3 v_normal;
out vec3 v_colour;
out float v_open;

void main() {
  v_place = at + offset;
  v_normal = normal;
  v_colour = colour;
  v_open = open;
  gl_Position = view * vec4(v_place, 1.0);
}
