// How paper takes light: a warm low sun that wraps around, a cool sky, fog into the page.
uniform highp sampler2DShadow shadows;
uniform mat4 sun_view;
uniform vec3 sun;
uniform vec3 eye;
uniform vec3 paper;
uniform float taps;

float lit_by_sun(vec3 place, vec3 normal) {
  vec4 at = sun_view * vec4(place + normal * 0.06, 1.0);
  vec3 uv = at.xyz * 0.5 + 0.5;
  vec2 border = smoothstep(vec2(1.0), vec2(0.92), abs(at.xy));
  float inside = border.x * border.y;
  if (inside <= 0.0) return 1.0;
  uv.z -= 0.0006;
  float open = 0.0;
  if (taps > 1.0) {
    float d = 0.6 / 1024.0;
    open = 0.25 * (texture(shadows, uv + vec3(-d, -d, 0.0)) + texture(shadows, uv + vec3(d, -d, 0.0))
      + texture(shadows, uv + vec3(-d, d, 0.0)) + texture(shadows, uv + vec3(d, d, 0.0)));
  } else {
    open = texture(shadows, uv);
  }
  return mix(1.0, open, inside);
}

float fog(vec3 place) {
  return 1.0 - exp(-max(distance(place, eye) - 25.0, 0.0) / 75.0);
}

vec3 shaded(vec3 colour, vec3 normal, float open, vec3 place, float fogged) {
  float facing = dot(normal, sun);
  float warm = clamp((facing + 0.3) / 1.3, 0.0, 1.0);
  warm = smoothstep(0.0, 0.75, warm) * (facing > -0.05 ? lit_by_sun(place, normal) : 0.0);
  vec3 cool = vec3(0.825, 0.86, 0.905) * mix(0.93, 1.03, normal.z * 0.5 + 0.5);
  vec3 light = mix(cool, vec3(1.02, 1.005, 0.98), warm);
  vec3 closed = vec3(0.64, 0.68, 0.74);
  light *= mix(closed, vec3(1.0), clamp(open * 1.12, 0.0, 1.0));
  return mix(colour * light, paper, fog(place) * fogged);
}
