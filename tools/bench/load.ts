import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import type { Lab } from './lab.js';

export interface LoadShape {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly headers?: readonly string[];
  /** Bytes of the body of each request, a POST then; 0 or absent: GET. */
  readonly upload?: number;
  readonly cores: readonly number[];
}

/** Results of the load program. */
export interface Load {
  readonly requests: number;
  /** Bytes received, heads included. */
  readonly bytes: number;
  readonly seconds: number;
  /** Milliseconds; NaN: the program does not say. */
  readonly p50: number;
  readonly p99: number;
  /** Responses that were no success, and socket errors: the run does not count. */
  readonly faults: readonly string[];
}

/** How much longer than its load a program may take: to connect, to wait for last responses, to print. */
export const LATE_SECONDS = 30;

interface WrkReport {
  readonly requests: number;
  readonly bytes: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: Readonly<Record<'connect' | 'read' | 'write' | 'status' | 'timeout', number>>;
}

/** wrk calls `done` once after the run: no cost per request, and exact figures where its own output is rounded. */
const reportScript = `done = function(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\\n{"requests":%.0f,"bytes":%.0f,"microseconds":%.0f,"p50":%.0f,"p99":%.0f,' ..
    '"errors":{"connect":%.0f,"read":%.0f,"write":%.0f,"status":%.0f,"timeout":%.0f}}\\n',
    summary.requests, summary.bytes, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect, e.read, e.write, e.status, e.timeout))
end
`;

/** Methods and bodies of requests that bring something. */
function uploadScript(bytes: number): string {
  return `wrk.method = 'POST'\nwrk.body = string.rep('x', ${bytes})\n`;
}

/** Loads an URL with wrk. Throws when wrk is missing or cannot run. */
export async function load(lab: Lab, shape: LoadShape): Promise<Load> {
  if (lab.programs.wrk === undefined) throw new Error('wrk is missing');
  const script = join(lab.dir, 'report.lua');
  writeFileSync(script, shape.upload === undefined ? reportScript : uploadScript(shape.upload) + reportScript);
  const output = await lab.processes.run(
    [
      lab.programs.wrk.path,
      `-t${shape.cores.length}`,
      `-c${shape.connections}`,
      `-d${shape.seconds}s`,
      '--timeout=10s',
      `-s${script}`,
      ...(shape.headers ?? []).map((header) => `-H${header}`),
      shape.url,
    ],
    { cores: shape.cores },
    shape.seconds + LATE_SECONDS,
  );
  return readReport(output);
}

/** Finds the line of the script in wrk's output. Throws if it is missing. */
export function readReport(output: string): Load {
  const line = output.split('\n').find((text) => text.startsWith('{"requests"'));
  if (line === undefined) throw new Error(`wrk gave no report: ${output.trim()}`);
  const report = JSON.parse(line) as WrkReport;
  const faults = Object.entries(report.errors).filter(([, count]) => count > 0);
  return {
    requests: report.requests,
    bytes: report.bytes,
    seconds: report.microseconds / 1e6,
    p50: report.p50 / 1000,
    p99: report.p99 / 1000,
    faults: [
      ...faults.map(([kind, count]) => `wrk: ${count} ${kind === 'status' ? 'responses without success' : `${kind} errors`}`),
      ...(report.requests === 0 ? ['wrk: not one response'] : []),
    ],
  };
}
