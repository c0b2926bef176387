import test from 'ava';
import { readReport } from '../../tools/bench/load.js';

function wrkOutput(errors: Record<string, number>): string {
  const all = { connect: 0, read: 0, write: 0, status: 0, timeout: 0, ...errors };
  return `Running 1s test\n  100 requests in 1.00s\n{"requests":100,"bytes":120000,"microseconds":1000000,"p50":500,"p99":2000,"errors":${JSON.stringify(all)}}\n`;
}

test('the figures of a run are read from the line of the script', (t) => {
  t.deepEqual(readReport(wrkOutput({})), { requests: 100, bytes: 120_000, seconds: 1, p50: 0.5, p99: 2, faults: [] });
});

test('answers that were no success and socket errors are faults', (t) => {
  t.deepEqual(readReport(wrkOutput({ status: 3, read: 1 })).faults, ['wrk: 1 read errors', 'wrk: 3 answers that were no success']);
});

test('output without a report is an error that shows it', (t) => {
  t.throws(() => readReport('unable to connect'), { message: /unable to connect/ });
});
