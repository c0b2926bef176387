import { dlopen } from 'node:ffi';

/** Linux, time.h. */
const CLOCK_THREAD_CPUTIME_ID = 3;

const { functions } = dlopen(null, { clock_gettime: { arguments: ['i32', 'pointer'], return: 'i32' } });
const time = new BigInt64Array(2);

/** Processor time of this thread, milliseconds: to the nanosecond, where `process.threadCpuUsage` counts in ticks of the system. */
export function threadTime(): number {
  functions.clock_gettime(CLOCK_THREAD_CPUTIME_ID, time);
  return Number(time[0]) * 1000 + Number(time[1]) / 1e6;
}
