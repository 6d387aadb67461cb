layout(location = 0) in vec3 from;
layout(location = 1) in vec3 to;
uniform mat4 view;
uniform vec3 offset;
uniform vec2 picture;
out vec3 v_place;
out float v_across;

const float NEAR = 0.08;
const float DOTS = 1.5;

void main() {
  vec3 a = from + offset;
  vec3 b = to + offset;
  vec4 start = view * vec4(a, 1.0);
  vec4 end = view * vec4(b, 1.0);
  // What is behind the eye is cut off, or the line would point the wrong way.
  if (start.w < NEAR && end.w > NEAR) {
    float part = (NEAR - start.w) / (end.w - start.w);
    start = mix(start, end, part); a = mix(a, b, part);
  } else if (end.w < NEAR && start.w > NEAR) {
    float part = (NEAR - end.w) / (start.w - end.w);
    end = mix(end, start, part); b = mix(b, a, part);
  }
  bool is_end = (gl_VertexID & 1) == 1;
  float side = (gl_VertexID & 2) == 2 ? 1.0 : -1.0;
  vec2 way = (end.xy / end.w - start.xy / start.w) * picture;
  way = dot(way, way) > 0.0 ? normalize(way) : vec2(1.0, 0.0);
  vec4 place = is_end ? end : start;
  place.xy += vec2(-way.y, way.x) * side * (DOTS * 0.5 + 0.5) * 2.0 / picture * place.w;
  // In front of the surfaces it lies on.
  place.z -= 0.0015 * min(place.w, 1.0) + 0.00006 * place.w;
  gl_Position = place;
  v_place = is_end ? b : a;
  v_across = side * (DOTS * 0.5 + 0.5);
}
