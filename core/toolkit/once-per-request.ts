import type { RequestState } from './request-state.js';
import type { Getter } from '../contract/template.js';

/** A variable that has one value in a request, whatever becomes of what it was made from: nginx's variables that are not volatile. */
export function oncePerRequest<R extends RequestState>(read: (request: R) => string): Getter<R> {
  const key = {};
  return (request) => {
    const known = request.get(key);
    if (typeof known === 'string') return known;
    const value = read(request);
    request.set(key, value);
    return value;
  };
}
