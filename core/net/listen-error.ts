import { ConfigError } from '../config/errors.js';

/** An address of the configuration cannot be listened on: another program has it, or the system does not allow it. */
export class ListenError extends ConfigError {}
