/** Keys and values. */
import { useState } from 'preact/hooks';
import { mayChange } from './access.js';
import { Modal } from './modal.js';
import { propose, type Proposal } from './proposal.js';
import { useRead } from './read.js';
import { Panel } from './shell.js';
import { Nothing, Table, type Column } from './table.js';
import type { Pair } from './types.js';

const SHOWN = 200;

/** @param value undefined: the key is removed */
function change(key: string, before: string | undefined, value: string | undefined): Proposal {
  const path = `/kv/keys/${encodeURIComponent(key)}`;
  const effect = [
    'keys',
    ...(before === undefined ? [] : [`- ${key} = ${before}`]),
    ...(value === undefined ? [] : [`+ ${key} = ${value}`]),
  ];
  const title = value === undefined ? `Remove the key ${key}` : before === undefined ? `Add the key ${key}` : `Change the key ${key}`;
  return { title, calls: [value === undefined ? { method: 'DELETE', path } : { method: 'PUT', path, body: { value } }], effect };
}

/** With what undoes it. */
function proposeChange(key: string, before: string | undefined, value: string | undefined): void {
  propose({ ...change(key, before, value), inverse: change(key, value, before) });
}

export function Keys() {
  const [prefix, setPrefix] = useState('');
  const [edited, setEdited] = useState<Partial<Pair> | undefined>(undefined);
  const { data, error } = useRead<readonly Pair[]>(`/kv/?limit=${SHOWN}&prefix=${encodeURIComponent(prefix)}`, 3000);
  const mayEdit = mayChange('kv');
  const columns: readonly Column<Pair>[] = [
    { title: 'Key', of: ({ key }) => <code>{key}</code> },
    { title: 'Value', of: ({ value }) => <code class="value">{value}</code> },
    ...(mayEdit
      ? [
          {
            title: 'Change',
            of: (pair: Pair) => (
              <span class="together">
                <button type="button" class="small" aria-label={`Edit ${pair.key}`} onClick={() => setEdited(pair)}>
                  Edit …
                </button>
                <button
                  type="button"
                  class="small danger"
                  aria-label={`Remove ${pair.key}`}
                  onClick={() => proposeChange(pair.key, pair.value, undefined)}
                >
                  Remove …
                </button>
              </span>
            ),
          },
        ]
      : []),
  ];
  return (
    <>
      <h1 class="hidden">Keys</h1>
      <Panel
        title="Keys"
        note={data && (data.length === SHOWN ? `the first ${SHOWN}` : String(data.length))}
        actions={
          <>
            <label class="field">
              <span class="hidden">Beginning of the keys</span>
              <input
                type="search"
                placeholder="Keys that begin with …"
                value={prefix}
                onInput={(event) => setPrefix(event.currentTarget.value)}
              />
            </label>
            {mayEdit && (
              <button type="button" id="add-key" onClick={() => setEdited({})}>
                Add …
              </button>
            )}
          </>
        }
      >
        {data === undefined || data.length === 0 ? (
          <Nothing error={error}>{prefix === '' ? 'There is no key.' : 'No key begins with that.'}</Nothing>
        ) : (
          <Table label="Keys" rows={data} columns={columns} id={({ key }) => key} />
        )}
      </Panel>
      {edited !== undefined && <PairDialog pair={edited} onClose={() => setEdited(undefined)} />}
    </>
  );
}

function PairDialog({ pair, onClose }: { readonly pair: Partial<Pair>; readonly onClose: () => void }) {
  const [key, setKey] = useState(pair.key ?? '');
  const [value, setValue] = useState(pair.value ?? '');
  const review = (event: Event): void => {
    event.preventDefault();
    onClose();
    proposeChange(key, pair.value, value);
  };
  return (
    <Modal title={pair.key === undefined ? 'Add a key' : `Change ${pair.key}`} onClose={onClose}>
      <form onSubmit={review}>
        {pair.key === undefined && (
          <label class="row">
            Key
            <input id="pair-key" value={key} required onInput={(event) => setKey(event.currentTarget.value)} />
          </label>
        )}
        <label class="row">
          Value
          <textarea id="pair-value" rows={4} value={value} onInput={(event) => setValue(event.currentTarget.value)} />
        </label>
        {pair.key !== undefined && <p class="muted">The key will not expire: a remaining time is not kept.</p>}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" id="pair-review" disabled={key === '' || (pair.key !== undefined && value === pair.value)}>
            Review
          </button>
        </div>
      </form>
    </Modal>
  );
}
