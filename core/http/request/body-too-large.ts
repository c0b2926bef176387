import { ApiError } from '../../contract/control.js';

/** A request body is longer than its reader allows. A handler that does not catch it responds with its status. */
export class BodyTooLarge extends ApiError {
  constructor(limit: number) {
    super(413, 'BodyTooLarge', `the request body is longer than ${limit} bytes`);
  }
}
