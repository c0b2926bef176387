import { inspect } from 'node:util';

/** Statuses that a handler may end a request or a session with: final ones of three digits. */
export function isStatus(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 999;
}

/**
 * The types of a module written in JavaScript are not checked.
 * @param results what a handler may return: `DECLINED, DONE, OK`
 */
export function notAResult(value: unknown, results: string): TypeError {
  return new TypeError(
    `the handler returned ${inspect(value, { depth: 0 })}: it must return ${results}, a status, or a promise of one of them`,
  );
}
