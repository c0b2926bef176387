import { sizeOf } from '../../contract/args.js';
import type { Template } from '../../contract/http.js';
import { logFailure } from './handler-failure.js';
import type { Request } from './request.js';

/** Bytes; 0 for an invalid text, which is logged (nginx). */
export function sizeFor(request: Request, template: Template): number {
  try {
    const text = template.of(request);
    const size = sizeOf(text);
    if (size !== undefined) return size;
    request.context.log.write('error', `invalid size "${text}"`, request);
  } catch (error) {
    logFailure(request, error, template);
  }
  return 0;
}
