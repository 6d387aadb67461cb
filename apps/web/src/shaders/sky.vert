out vec2 v_at;

void main() {
  v_at = vec2(float((gl_VertexID & 1) * 4) - 1.0, float((gl_VertexID & 2) * 2) - 1.0);
  gl_Position = vec4(v_at, 0.0, 1.0);
}
