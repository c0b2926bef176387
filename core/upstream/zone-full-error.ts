import { ConfigError } from '../config/errors.js';
import type { Directive } from '../contract/tree.js';

/** An upstream or a member does not fit its zone. The API responds with 507. */
export class ZoneFullError extends ConfigError {
  constructor(directive: Directive, message: string) {
    super(message, directive.source, directive.name.length, 'give the zone a larger size in the configuration, and reload');
    this.name = 'ZoneFullError';
  }
}
