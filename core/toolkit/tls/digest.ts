/** Of certificates and the like, in hexadecimal digits. */
export function digestOf(parts: readonly Buffer[]): string {
  // Loaded when it is used: servers without TLS need none.
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}
