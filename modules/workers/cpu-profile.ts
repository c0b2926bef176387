import type { Session } from 'node:inspector';
import { setTimeout as sleep } from 'node:timers/promises';

/** Microseconds between two samples. */
const INTERVAL = 1000;

/**
 * Profiles the thread that it is called in.
 * @param signal ends it early; the profile is what there is
 * @returns the text of a .cpuprofile
 */
export async function cpuProfile(seconds: number, signal: AbortSignal): Promise<string> {
  // Loaded when it is used: it takes memory in each thread.
  const { Session } = process.getBuiltinModule('node:inspector');
  const session = new Session();
  session.connect();
  try {
    await post(session, 'Profiler.enable');
    await post(session, 'Profiler.setSamplingInterval', { interval: INTERVAL });
    await post(session, 'Profiler.start');
    await sleep(seconds * 1000, undefined, { signal }).catch(() => undefined);
    const { profile } = (await post(session, 'Profiler.stop')) as { readonly profile: unknown };
    return JSON.stringify(profile);
  } finally {
    session.disconnect();
  }
}

function post(session: Session, method: string, params: object = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    session.post(method, params, (error, result) => (error === null ? resolve(result) : reject(error)));
  });
}
