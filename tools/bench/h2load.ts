import type { Lab } from './lab.js';
import { LATE_SECONDS, type Load, type LoadShape } from './load.js';

export interface Http2LoadShape extends LoadShape {
  /** Requests at a time on each connection. */
  readonly streams: number;
}

/** Loads an URL by HTTP/2 with h2load, part of nghttp2. Throws when it is missing or cannot run. */
export async function loadHttp2(lab: Lab, { url, connections, seconds, streams, cores }: Http2LoadShape): Promise<Load> {
  if (lab.programs.h2load === undefined) throw new Error('h2load is missing');
  const output = await lab.processes.run(
    [lab.programs.h2load.path, `-t${cores.length}`, `-c${connections}`, `-m${streams}`, `-D${seconds}`, url],
    { cores },
    seconds + LATE_SECONDS,
  );
  return readHttp2Report(output);
}

/** Reads what h2load prints. Throws when there is no report in it. */
export function readHttp2Report(output: string): Load {
  const [, done, failed, errored, timedOut] =
    /^requests: .*?(\d+) done, \d+ succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/m.exec(output) ?? [];
  const [, bytes] = /^traffic: [^(]*\((\d+)\) total/m.exec(output) ?? [];
  const [, time = '', unit = ''] = /^finished in ([\d.]+)(us|ms|s),/m.exec(output) ?? [];
  if (done === undefined || bytes === undefined) throw new Error(`h2load gave no report: ${output.trim()}`);
  // Responses without success are among the failed ones.
  const faults = Number(failed) + Number(errored) + Number(timedOut);
  return {
    requests: Number(done),
    bytes: Number(bytes),
    seconds: Number(time) * { us: 1e-6, ms: 1e-3, s: 1 }[unit as 'us' | 'ms' | 's'],
    p50: NaN,
    p99: NaN,
    faults: [...(faults > 0 ? [`h2load: ${faults} failed requests`] : []), ...(Number(done) === 0 ? ['h2load: not one response'] : [])],
  };
}
