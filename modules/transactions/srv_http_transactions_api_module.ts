import { ApiError, DATA_PLANE_ERRORS, dryRunReply, route, type Call, type Reply } from '../../core/contract/control.js';
import { controlModule } from '../../core/contract/manifest.js';
import { Type, type Static } from '../../core/contract/schema.js';
import { ApiRoutes, type CarriedResponse } from '../../core/contract/api-routes.js';

/** Calls of one transaction. */
const MOST_CALLS = 10_000;

const condition = (header: string) => Type.Optional(Type.String({ description: `\`${header}\` of this call.` }));
const CarriedCall = Type.Object(
  {
    method: Type.Enum(['POST', 'PUT', 'PATCH', 'DELETE']),
    path: Type.String({
      pattern: '^/',
      description: 'a path that begins with /v1/, with its query: /v1/dyn_loc?force=1',
    }),
    body: Type.Optional(Type.Any({ description: 'As it would be sent alone.' })),
    ifMatch: condition('If-Match'),
    ifNoneMatch: condition('If-None-Match'),
  },
  { title: 'TransactionCall' },
);
const Result = Type.Object(
  {
    status: Type.Integer(),
    headers: Type.Object({ ETag: Type.Optional(Type.String()), Location: Type.Optional(Type.String()) }),
    body: Type.Optional(Type.Any()),
  },
  { title: 'TransactionResult' },
);

const transact = {
  summary: 'Carry out several calls that change the configuration, all or none',
  dryRun: true,
  carriesCalls: true,
  maxBody: 32 * 1024 * 1024,
  body: Type.Object({ calls: Type.Array(CarriedCall, { minItems: 1, maxItems: MOST_CALLS }) }, { title: 'Transaction' }),
  check: (body: unknown) => dryRunErrors(body),
  responses: { 200: Type.Object({ version: Type.Integer(), results: Type.Array(Result) }, { title: 'TransactionResults' }) },
  headers: ['ETag'],
  errors: [...DATA_PLANE_ERRORS, 'VersionMismatch', 'ConfigError', 'HeapFull', 'StoreFull', 'NotTransactional'],
} as const;

type Calls = Static<typeof transact.body>['calls'];
interface Failure {
  readonly index: number;
  readonly method: string;
  readonly path: string;
  readonly error: { readonly status: number; readonly code: string; readonly text: string; readonly details: readonly unknown[] };
}

/** Several calls as one: `/v1/transactions`. */
@controlModule({ name: 'srv_http_transactions_api_module', api: 1, key: 'transactions' })
export class TransactionsApi {
  constructor(private readonly routes: ApiRoutes) {}

  @route('POST', '', transact)
  async transact(call: Call<typeof transact>): Promise<Reply> {
    const { calls } = call.body;
    const { responses, version, diff } = await this.routes.transact(call, calls);
    const failures = responses.flatMap((response, index) => failureOf(response, index, calls));
    assertNone(failures);
    if (call.dryRun) return dryRunReply(diff);
    return { status: 200, version: String(version), body: { version, results: responses } };
  }
}

function failureOf({ status, body }: CarriedResponse, index: number, calls: Calls): Failure[] {
  if (status < 400) return [];
  const { error } = body as Pick<Failure, 'error'>;
  const { method = '', path = '' } = calls[index] ?? {};
  return error.code === 'NotApplied' ? [] : [{ index, method, path, error }];
}

/** @throws ApiError that names every call that failed; status and code are those of the first */
function assertNone(failures: readonly Failure[]): void {
  const [first, ...others] = failures;
  if (first === undefined) return;
  const { status, code, text } = first.error;
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  throw new ApiError(status, code, `/calls/${first.index}: ${text}${more}`, failures);
}

/** A call that is only tried cannot be part of what is carried out. */
function dryRunErrors(body: unknown): ApiError[] {
  const { calls } = (body ?? {}) as { readonly calls?: unknown };
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call: unknown, index) => {
    const { path } = (call ?? {}) as { readonly path?: unknown };
    if (typeof path !== 'string' || !/[?&]dry_run(?:[=&]|$)/.test(path)) return [];
    const [pointer, message] = [`/calls/${index}/path`, 'must not have "dry_run": it is for the transaction as a whole'];
    return [new ApiError(400, 'InvalidField', `${pointer}: ${message}`, [{ pointer, message }])];
  });
}
