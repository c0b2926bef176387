import type { Lab } from './lab.js';
import { LATE_SECONDS, type Load, type LoadShape } from './load.js';

export interface HandshakesShape extends LoadShape {
  /** Each connection goes on with a session of the one before; else each handshake is a full one. */
  readonly isResumed: boolean;
}

/** Opens one connection after the other with `openssl s_time`, in several processes, a request on each. Throws when openssl cannot run. */
export async function loadHandshakes(lab: Lab, { url, connections, seconds, cores, isResumed }: HandshakesShape): Promise<Load> {
  if (lab.programs.openssl === undefined) throw new Error('openssl is missing');
  const { host, pathname } = new URL(url);
  const kind = isResumed ? '-reuse' : '-new';
  const command = [lab.programs.openssl.path, 's_time', '-connect', host, '-www', pathname, kind, '-time', String(seconds)];
  const reports = await Promise.all(
    Array.from({ length: connections }, async () => readHandshakes(await lab.processes.run(command, { cores }, seconds + LATE_SECONDS))),
  );
  const sum = (of: (report: Handshakes) => number): number => reports.reduce((total, report) => total + of(report), 0);
  const [full, resumed] = [sum((report) => report.full), sum((report) => report.resumed)];
  const other = isResumed ? full : resumed;
  return {
    requests: full + resumed,
    bytes: sum(({ bytes }) => bytes),
    seconds,
    p50: NaN,
    p99: NaN,
    faults: other === 0 ? [] : [`s_time: ${other} handshakes were ${isResumed ? 'full ones' : 'resumed'}`],
  };
}

interface Handshakes {
  readonly full: number;
  readonly resumed: number;
  readonly bytes: number;
}

/** Reads what `openssl s_time` prints: a letter for each connection, and a summary. Throws when there is none. */
export function readHandshakes(output: string): Handshakes {
  const [, connections, each] = /^(\d+) connections in \d+ real seconds, (\d+) bytes read per connection/m.exec(output) ?? [];
  if (connections === undefined || each === undefined) throw new Error(`openssl s_time gave no report: ${output.trim()}`);
  // A line of letters: r is a session that was resumed, and t, T, s a full handshake by version of TLS.
  const resumed = /^r+(?=\n|$)/m.exec(output)?.[0].length ?? 0;
  return { full: Number(connections) - resumed, resumed, bytes: Number(connections) * Number(each) };
}
