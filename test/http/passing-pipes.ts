/** The pipe of a worker through which the system passes bodies on: it is opened with the first one, and there is no other sign of it. */
import { readdirSync, readlinkSync } from 'node:fs';
import { usesEpoll } from '../harness/event-methods.js';
import type { Srv } from '../harness/srv.js';

/** Descriptors of a worker for it. Where bytes are not passed on, everything else is the same. */
export const pipesAreMade = usesEpoll ? 2 : 0;

export function pipesOf({ pid }: Srv): number {
  return readdirSync(`/proc/${pid}/fd`).filter((number) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${number}`).startsWith('pipe:');
    } catch {
      return false;
    }
  }).length;
}
