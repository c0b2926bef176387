/** A change: its difference is shown before it is made, and it can be undone after. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from './api.js';
import { CallError, type ErrorDetail } from './event-stream.js';
import { Diff } from './diff.js';
import { live } from './live.js';
import { Modal } from './modal.js';
import { useValue, Value } from './value.js';

export interface ChangeCall {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/v1`. */
  readonly path: string;
  readonly body?: unknown;
}

export interface Proposal {
  readonly title: string;
  readonly calls: readonly ChangeCall[];
  /** The calls change no configuration: they are sent one by one. This is what they do. */
  readonly effect?: readonly string[];
  /** Undoes such calls. */
  readonly inverse?: Proposal;
  /** The call has a dry run, but cannot be part of a transaction. */
  readonly isAlone?: boolean;
}

interface Done {
  readonly title: string;
  readonly undo: Proposal | undefined;
}

const proposal = new Value<Proposal | undefined>(undefined);
const done = new Value<Done | undefined>(undefined);

export function propose(change: Proposal): void {
  done.set(undefined);
  proposal.set(change);
}

interface Tried {
  readonly diff: readonly string[];
}

function transaction(calls: readonly ChangeCall[]): object {
  return { calls: calls.map(({ method, path, body }) => ({ method, path: `/v1${path}`, ...(body !== undefined && { body }) })) };
}

async function difference({ calls, effect, isAlone = false }: Proposal): Promise<readonly string[]> {
  if (effect !== undefined) return effect;
  const [only] = calls;
  if (isAlone && only !== undefined) {
    const { body } = await call<Partial<Tried>>(only.method, `${only.path}${only.path.includes('?') ? '&' : '?'}dry_run=1`, {
      body: only.body,
    });
    return body.diff ?? [];
  }
  return (await call<Tried>('POST', '/transactions?dry_run=1', { body: transaction(calls) })).body.diff;
}

async function apply(change: Proposal, message: string): Promise<Done> {
  const { title, calls, effect, inverse, isAlone = false } = change;
  if (effect !== undefined || isAlone) {
    for (const { method, path, body } of calls) await call(method, path, { body, message });
    return { title, undo: inverse };
  }
  const { version } = (await call<{ version: number }>('POST', '/transactions', { body: transaction(calls), message })).body;
  return { title, undo: rollback(version - 1, `Undo: ${title}`) };
}

/** Reverts the changes of the API after a version. */
export function rollback(version: number, title: string): Proposal {
  return { title, calls: [{ method: 'POST', path: `/history/${version}/rollback` }] };
}

function linesOf({ details, message }: CallError): readonly string[] {
  const lines = details.map((detail: ErrorDetail) => detail.message ?? detail.error?.text ?? '').filter((line) => line !== '');
  return lines.length > 0 ? lines : [message];
}

function errorLines(error: unknown): readonly string[] {
  return error instanceof CallError ? linesOf(error) : [String(error)];
}

export function Proposals() {
  const current = useValue(proposal);
  return (
    <>
      {current !== undefined && <Review key={current.title} change={current} />}
      <Toast />
    </>
  );
}

function Review({ change }: { readonly change: Proposal }) {
  const [diff, setDiff] = useState<readonly string[] | undefined>(undefined);
  const [errors, setErrors] = useState<readonly string[]>([]);
  const [message, setMessage] = useState('');
  const [isBusy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    difference(change).then(setDiff, (error: unknown) => setErrors(errorLines(error)));
    input.current?.focus();
  }, [change]);
  const confirm = (event: Event): void => {
    event.preventDefault();
    setBusy(true);
    apply(change, message).then(
      (result) => {
        proposal.set(undefined);
        done.set(result);
        live.refresh('changes', 'drift', 'upstreams', 'caches', 'certificates');
        live.changed.set(live.changed.current + 1);
      },
      (error: unknown) => {
        setErrors(errorLines(error));
        setBusy(false);
      },
    );
  };
  return (
    <Modal title={change.title} onClose={() => proposal.set(undefined)}>
      <form onSubmit={confirm}>
        {diff !== undefined && <Diff lines={diff} />}
        {diff === undefined && errors.length === 0 && <p class="muted">Trying it …</p>}
        {errors.length > 0 && (
          <ul class="problem" role="alert">
            {errors.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        )}
        {change.effect === undefined && (
          <label class="row">
            Why (for the history)
            <input ref={input} value={message} maxLength={200} onInput={(event) => setMessage(event.currentTarget.value)} />
          </label>
        )}
        <div class="buttons">
          <button type="button" onClick={() => proposal.set(undefined)}>
            Cancel
          </button>
          <button
            type="submit"
            class="primary"
            id="confirm"
            disabled={isBusy || diff === undefined || (diff.length === 0 && change.isAlone !== true)}
          >
            {isBusy ? 'Applying …' : 'Apply'}
          </button>
        </div>
      </form>
    </Modal>
  );
}

function Toast() {
  const result = useValue(done);
  return (
    <div class="toasts" role="status">
      {result !== undefined && (
        <p class="toast">
          <span>Done: {result.title}</span>
          {result.undo !== undefined && (
            <button type="button" id="undo" class="small" onClick={() => propose(result.undo!)}>
              Undo
            </button>
          )}
          <button type="button" class="small quiet" onClick={() => done.set(undefined)}>
            Close
          </button>
        </p>
      )}
    </div>
  );
}
