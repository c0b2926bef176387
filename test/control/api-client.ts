import type { Caller } from '../../core/api/access/caller.js';
import { CallTrail, type ApiResponse } from '../../core/api/api-call.js';
import { stepsBelow } from '../../core/api/api-path.js';
import { ApiError } from '../../core/contract/control.js';
import type { ControlRouter } from '../../core/api/router.js';

export interface CallOptions {
  readonly body?: string | Buffer | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client that may do everything. */
const EVERYBODY: Caller = {
  actor: 'anonymous',
  by: 'none',
  access: { by: 'none', scopes: undefined, isReadOnly: false },
  assertMayUse: () => Promise.resolve(),
  assertMayApply: () => undefined,
};

/** Calls a router as the engine would, without a socket. `path` has the query with it. */
export function callRouter(
  router: ControlRouter,
  method: string,
  path: string,
  { body = '', headers = {} }: CallOptions = {},
): Promise<ApiResponse> {
  const [plain = '', query = ''] = path.split('?', 2);
  const bytes = Buffer.from(body);
  const all = { ...(bytes.length > 0 && { 'content-type': 'application/json' }), ...headers };
  return router.respond({
    method,
    base: '/api',
    steps: stepsBelow({ requestUri: `/api${plain}`, uri: decodeURI(`/api${plain}`) }, '/api'),
    href: `/api${plain}`,
    query,
    requestId: 'r1',
    client: '127.0.0.1',
    caller: EVERYBODY,
    trail: new CallTrail(),
    header: (name) => (all as Readonly<Record<string, string>>)[name],
    body: (limit) =>
      bytes.length > limit ? Promise.reject(new ApiError(413, 'BodyTooLarge', `a body may have ${limit} bytes`)) : Promise.resolve(bytes),
  });
}

/** The error of a response. */
export function errorOf(answer: { readonly body: string }): {
  status: number;
  code: string;
  text: string;
  details: { pointer?: string; message?: string }[];
} {
  return (JSON.parse(answer.body) as { error: ReturnType<typeof errorOf> }).error;
}
