/** A server with random locations, each of which says which one it is, and paths to ask it for. */

export interface RandomSite {
  /** The `server` block, on `%%PORT_random%%`. */
  readonly server: string;
  readonly paths: readonly string[];
}

const PARTS = ['a', 'b', 'ab', 'c.x', 'A'];
const PATTERNS = ['^/a', 'b', '\\.x$', '/b/', 'c', '^/[ab]/a'];

const rest = (location: string): string => `return 200 '${encodeURIComponent(location)}';`;

/** The same for the same seed (a linear congruential generator). */
export function randomSite(seed: number): RandomSite {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const one = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const path = (): string => Array.from({ length: 1 + below(3) }, () => `/${one(PARTS)}`).join('') + one(['', '', '/']);

  function level(base: string, count: number, inner: number): string {
    const seen = new Set<string>();
    const blocks: string[] = [];
    for (let at = 0; at < count; at++) {
      const kind = one(['prefix', 'prefix', 'exact', 'prefix-only', 'regex', 'caseless']);
      const name = kind === 'regex' || kind === 'caseless' ? one(PATTERNS) : `${base}${path()}`;
      const modifier = { prefix: '', exact: '= ', 'prefix-only': '^~ ', regex: '~ ', caseless: '~* ' }[kind] ?? '';
      // Two prefixes of one name are an error, whatever their modifier is.
      const key = kind === 'regex' || kind === 'caseless' ? `${kind} ${name}` : `${kind === 'exact'} ${name}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const nested = kind === 'prefix' && inner > 0 ? level(name, below(3), inner - 1) : '';
      blocks.push(`location ${modifier}${name} { ${nested} ${rest(`${modifier}${name}`)} }`);
    }
    return blocks.join('\n');
  }

  const server = `server { listen 127.0.0.1:%%PORT_random%%; ${level('', 24, 2)} location / { ${rest('/')} } }`;
  return { server, paths: Array.from({ length: 120 }, path) };
}
