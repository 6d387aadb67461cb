in vec2 v_at;
uniform vec3 forward;
uniform vec3 right;
uniform vec3 up;
uniform vec2 reach;
uniform vec3 paper;
uniform vec3 sky;
out vec4 dot_colour;

void main() {
  vec3 way = normalize(forward + right * (v_at.x * reach.x) + up * (v_at.y * reach.y));
  dot_colour = vec4(mix(paper, sky, smoothstep(0.02, 0.55, way.z)), 1.0);
}
