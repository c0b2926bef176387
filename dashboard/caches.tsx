/** Caches with what they hold and save, and purges. */
import { useState } from 'preact/hooks';
import { mayChange } from './access.js';
import { bytes, count, percent } from './format.js';
import { live } from './live.js';
import { Modal } from './modal.js';
import { propose } from './proposal.js';
import { Missing, Panel } from './shell.js';
import { Table, type Column } from './table.js';
import type { Cache } from './types.js';
import { useValue } from './value.js';

const KINDS = [
  ['key', 'The response with this key'],
  ['prefix', 'All keys that begin with this'],
  ['tag', 'All responses with this tag'],
  ['all', 'Everything'],
] as const;
type Kind = (typeof KINDS)[number][0];

function served({ hits, stale, updating, revalidated }: Cache): number {
  return hits + stale + updating + revalidated;
}

function asked(cache: Cache): number {
  return served(cache) + cache.misses + cache.expired + cache.bypass;
}

export function Caches() {
  const caches = useValue(live.caches);
  const [zone, setZone] = useState('');
  const columns: readonly Column<Cache>[] = [
    { title: 'Cache', of: ({ name }) => name },
    { title: 'Hit ratio', isNumber: true, of: (cache) => <Ratio part={served(cache)} whole={asked(cache)} /> },
    {
      title: 'Size',
      isNumber: true,
      of: ({ size, max_size: max }) => `${bytes(size)}${typeof max === 'number' && max > 0 ? ` of ${bytes(max)}` : ''}`,
    },
    { title: 'Entries', isNumber: true, of: ({ entries }) => count(entries) },
    { title: 'Hits', isNumber: true, of: ({ hits }) => count(hits) },
    { title: 'Misses', isNumber: true, of: ({ misses }) => count(misses) },
    { title: 'Expired', isNumber: true, of: ({ expired }) => count(expired) },
    { title: 'Stale', isNumber: true, of: ({ stale, updating }) => count(stale + updating) },
    { title: 'Bypassed', isNumber: true, of: ({ bypass }) => count(bypass) },
    { title: 'Sent', isNumber: true, of: ({ bytes: sent }) => bytes(sent) },
    ...(mayChange('cache')
      ? [
          {
            title: 'Purge',
            of: ({ name }: Cache) => (
              <button type="button" class="small" aria-label={`Purge ${name}`} onClick={() => setZone(name)}>
                Purge …
              </button>
            ),
          },
        ]
      : []),
  ];
  return (
    <>
      <h1 class="hidden">Caches</h1>
      <Panel title="Caches" note={caches && count(caches.length)}>
        {caches === undefined ? (
          <Missing part="caches" />
        ) : caches.length === 0 ? (
          <p class="empty">There is no cache: proxy_cache_path makes one.</p>
        ) : (
          <Table label="Caches" rows={caches} columns={columns} id={({ name }) => name} />
        )}
      </Panel>
      {zone !== '' && <Purge zone={zone} onClose={() => setZone('')} />}
    </>
  );
}

export function Ratio({ part, whole }: { readonly part: number; readonly whole: number }) {
  return (
    <span class="ratio">
      <meter value={whole === 0 ? 0 : part / whole} aria-hidden="true" />
      {percent(part, whole)}
    </span>
  );
}

function Purge({ zone, onClose }: { readonly zone: string; readonly onClose: () => void }) {
  const [kind, setKind] = useState<Kind>('key');
  const [text, setText] = useState('');
  const [isSoft, setSoft] = useState(false);
  const review = (event: Event): void => {
    event.preventDefault();
    onClose();
    const query = [...(kind === 'all' ? [] : [`${kind}=${encodeURIComponent(text)}`]), ...(isSoft ? ['soft=1'] : [])].join('&');
    const subject = kind === 'all' ? 'everything' : `${kind} ${text}`;
    propose({
      title: `Purge ${subject} of the cache ${zone}`,
      calls: [{ method: 'DELETE', path: `/cache/${encodeURIComponent(zone)}/entries${query === '' ? '' : `?${query}`}` }],
      effect: [`cache ${zone}`, `- ${subject}${isSoft ? ': stale, fetched again at the next request' : ': removed, cannot be undone'}`],
    });
  };
  return (
    <Modal title={`Purge the cache ${zone}`} onClose={onClose}>
      <form onSubmit={review}>
        <fieldset class="choice">
          <legend>Purge</legend>
          {KINDS.map(([name, label]) => (
            <label key={name} class="switch">
              <input type="radio" name="kind" value={name} checked={kind === name} onChange={() => setKind(name)} />
              {label}
            </label>
          ))}
        </fieldset>
        {kind !== 'all' && (
          <label class="row">
            {kind === 'key' ? 'Key' : kind === 'prefix' ? 'Beginning of the keys' : 'Tag'}
            <input id="purge-text" value={text} required onInput={(event) => setText(event.currentTarget.value)} />
          </label>
        )}
        <label class="switch">
          <input type="checkbox" checked={isSoft} onChange={(event) => setSoft(event.currentTarget.checked)} />
          Only mark as stale
        </label>
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" id="purge-review">
            Review
          </button>
        </div>
      </form>
    </Modal>
  );
}
