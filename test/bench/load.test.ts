import test from 'ava';
import { readHttp2Report } from '../../tools/bench/h2load.js';
import { readHandshakes } from '../../tools/bench/handshakes.js';
import { readReport } from '../../tools/bench/load.js';

function wrkOutput(errors: Record<string, number>): string {
  const all = { connect: 0, read: 0, write: 0, status: 0, timeout: 0, ...errors };
  return `Running 1s test\n  100 requests in 1.00s\n{"requests":100,"bytes":120000,"microseconds":1000000,"p50":500,"p99":2000,"errors":${JSON.stringify(all)}}\n`;
}

test('the figures of a run are read from the line of the script', (t) => {
  t.deepEqual(readReport(wrkOutput({})), { requests: 100, bytes: 120_000, seconds: 1, p50: 0.5, p99: 2, faults: [] });
});

test('responses that were no success and socket errors are faults', (t) => {
  t.deepEqual(readReport(wrkOutput({ status: 3, read: 1 })).faults, ['wrk: 1 read errors', 'wrk: 3 responses without success']);
});

test('output without a report is an error that shows it', (t) => {
  t.throws(() => readReport('unable to connect'), { message: /unable to connect/ });
});

function h2loadOutput(failed: number): string {
  return `starting benchmark...

finished in 1.50s, 66666.00 req/s, 15.23KB/s
requests: 100000 total, 100000 started, 100000 done, ${100_000 - failed} succeeded, ${failed} failed, 0 errored, 0 timeout
status codes: ${100_000 - failed} 2xx, 0 3xx, ${failed} 4xx, 0 5xx
traffic: 111.41MB (116830000) total, 11.91MB (12200000) headers (space savings 30.68%), 97.66MB (102400000) data
`;
}

test('the figures of h2load are read from what it prints', (t) => {
  t.like(readHttp2Report(h2loadOutput(0)), { requests: 100_000, bytes: 116_830_000, seconds: 1.5, faults: [] });
  t.deepEqual(readHttp2Report(h2loadOutput(3)).faults, ['h2load: 3 failed requests']);
  t.throws(() => readHttp2Report('could not connect'), { message: /could not connect/ });
});

const sTimeSummary = (connections: number): string => `\n\n${connections} connections in 5 real seconds, 1166 bytes read per connection\n`;

test('handshakes of openssl s_time are read from what it prints', (t) => {
  t.deepEqual(readHandshakes(`Collecting connection statistics for 4 seconds\ntTtT${sTimeSummary(4)}`), {
    full: 4,
    resumed: 0,
    bytes: 4664,
  });
  t.deepEqual(readHandshakes(`Now timing with session id reuse.\nstarting\nrrr${sTimeSummary(3)}`), { full: 0, resumed: 3, bytes: 3498 });
  t.throws(() => readHandshakes('connect:errno=111'), { message: /errno=111/ });
});
