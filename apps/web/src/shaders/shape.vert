layout(location = 0) in vec3 at;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec3 outwards;
layout(location = 4) in vec4 row_x;
layout(location = 5) in vec4 row_y;
layout(location = 6) in vec4 row_z;
layout(location = 7) in vec4 look;
uniform mat4 view;
// By how many dots an outline is wider, and how large the picture is.
uniform float outline;
uniform vec2 picture;
out vec3 v_place;
out vec3 v_normal;
out vec4 v_look;

void main() {
  mat3 axes = transpose(mat3(row_x.xyz, row_y.xyz, row_z.xyz));
  v_place = axes * at + vec3(row_x.w, row_y.w, row_z.w);
  vec3 sizes = vec3(dot(axes[0], axes[0]), dot(axes[1], axes[1]), dot(axes[2], axes[2]));
  v_normal = normalize(axes * (normal / sizes));
  v_look = look;
  gl_Position = view * vec4(v_place, 1.0);
  if (outline > 0.0) {
    vec3 away = normalize(axes * (outwards / sizes));
    vec4 ahead = view * vec4(v_place + away * 0.01, 1.0);
    vec2 way = (ahead.xy / ahead.w - gl_Position.xy / gl_Position.w) * picture;
    way = dot(way, way) > 0.0 ? normalize(way) : vec2(0.0);
    gl_Position.xy += way * outline * 2.0 / picture * gl_Position.w;
    // Three centimetres farther at any distance, lest a wall close behind hide it: depth is not even.
    gl_Position.z += 0.005 / gl_Position.w;
  }
}
