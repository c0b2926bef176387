/** What schemas of routes are written with. Modules take it from here, so that one outside of the installation needs no package of its own. */
import { Type } from 'typebox';
import { DURATION_FORM, TOO_LONG, type Duration } from './duration.js';

export { durationOf, durationText, type Duration } from './duration.js';
export { Type, type Static, type TSchema } from 'typebox';

/** The schema of a {@link Duration}. */
export function duration() {
  return Type.Unsafe<Duration>({
    type: ['string', 'number'],
    pattern: String.raw`^(?=\d)(\d+y)?\s?(\d+M)?\s?(\d+w)?\s?(\d+d)?\s?(\d+h)?\s?(\d+m(?!s))?\s?(\d+s?)?\s?(\d+ms)?$`,
    maxLength: 32,
    minimum: 0,
    exclusiveMaximum: TOO_LONG / 1000,
    description: DURATION_FORM,
  });
}
