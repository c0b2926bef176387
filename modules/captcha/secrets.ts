import type { InputFile } from '../../core/contract/resource.js';

/** Bytes that a secret has at least. */
export const SHORTEST_SECRET = 16;

/** The secret that signs, then the former one, which is valid as well. */
export type Secrets = readonly string[];

/** One secret a line; empty lines and comments (#) are skipped. */
export function parseSecrets(file: InputFile): Secrets {
  const lines = file.text.split(/\r?\n/).map((line) => line.trim());
  const secrets = lines.flatMap((line, at) => (line === '' || line.startsWith('#') ? [] : [{ line, at }]));
  if (secrets.length === 0 || secrets.length > 2)
    return file.fail((secrets[2]?.at ?? 0) + 1, `${secrets.length} secrets`, 'one or two lines, the secret in use first');
  for (const { line, at } of secrets)
    if (Buffer.byteLength(line) < SHORTEST_SECRET) file.fail(at + 1, 'the secret is too short', SECRET_HINT);
  return secrets.map(({ line }) => line);
}

export const SECRET_HINT = `at least ${SHORTEST_SECRET} bytes, for example of "openssl rand -hex 32"`;
