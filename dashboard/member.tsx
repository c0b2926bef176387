/** Changes of the members of an upstream. */
import { useState } from 'preact/hooks';
import { Modal } from './modal.js';
import { propose } from './proposal.js';
import { useRead } from './read.js';
import type { Engine, Member } from './types.js';
import { useValue, Value } from './value.js';

interface Place {
  readonly engine: Engine;
  readonly upstream: string;
  /** Id of the member; undefined: a new one. */
  readonly id: number | undefined;
}

const place = new Value<Place | undefined>(undefined);
const FIELDS = ['weight', 'max_conns', 'max_fails', 'fail_timeout', 'slow_start'] as const;
const LABELS: Readonly<Record<(typeof FIELDS)[number], string>> = {
  weight: 'Weight',
  max_conns: 'Most connections (0: no limit)',
  max_fails: 'Failures until it is left out',
  fail_timeout: 'Left out for',
  slow_start: 'Slow start',
};
type Service = 'on' | 'drain' | 'down';
const SERVICES: readonly (readonly [Service, string])[] = [
  ['on', 'In service'],
  ['drain', 'Drain: no new clients'],
  ['down', 'Down: no requests'],
];
const NEW: Member = {
  id: -1,
  server: '',
  weight: 1,
  max_conns: 0,
  max_fails: 1,
  fail_timeout: '10s',
  slow_start: '0s',
  backup: false,
  down: false,
  drain: false,
};

export function editMember(engine: Engine, upstream: string, id?: number): void {
  place.set({ engine, upstream, id });
}

export function MemberDialog() {
  const current = useValue(place);
  if (current === undefined) return null;
  return current.id === undefined ? (
    <Form key="new" place={current} member={NEW} />
  ) : (
    <Loaded key={JSON.stringify(current)} place={current} id={current.id} />
  );
}

function pathOf({ engine, upstream }: Place): string {
  return `/upstream_api/${engine}/upstreams/${encodeURIComponent(upstream)}/servers/`;
}

const close = (): void => place.set(undefined);

function Loaded({ place, id }: { readonly place: Place; readonly id: number }) {
  const { data, error } = useRead<Member>(`${pathOf(place)}${id}`, 3_600_000);
  if (data !== undefined) return <Form place={place} member={data} />;
  return (
    <Modal title="Member" onClose={close}>
      <p class="muted">{error === '' ? 'Loading …' : error}</p>
      <div class="buttons">
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </Modal>
  );
}

/** Fields that differ. */
function changes(member: Member, edited: Member): Partial<Member> {
  return Object.fromEntries(Object.entries(edited).filter(([name, value]) => member[name as keyof Member] !== value));
}

function serviceOf({ down, drain }: Member): Service {
  return down ? 'down' : drain ? 'drain' : 'on';
}

function Form({ place, member }: { readonly place: Place; readonly member: Member }) {
  const [edited, setEdited] = useState(member);
  const { upstream, id } = place;
  const isNew = id === undefined;
  const set = (part: Partial<Member>): void => setEdited({ ...edited, ...part });
  const body = isNew
    ? Object.fromEntries(
        Object.entries(edited).filter(([name, value]) => name === 'server' || (name !== 'id' && value !== NEW[name as keyof Member])),
      )
    : changes(member, edited);
  const review = (event: Event): void => {
    event.preventDefault();
    close();
    propose(
      isNew
        ? { title: `Add ${edited.server} to ${upstream}`, calls: [{ method: 'POST', path: pathOf(place), body }] }
        : { title: `Change ${member.server} of ${upstream}`, calls: [{ method: 'PATCH', path: `${pathOf(place)}${id}`, body }] },
    );
  };
  const remove = (): void => {
    close();
    propose({ title: `Remove ${member.server} from ${upstream}`, calls: [{ method: 'DELETE', path: `${pathOf(place)}${id}` }] });
  };
  return (
    <Modal title={isNew ? `Add a member to ${upstream}` : `${member.server} of ${upstream}`} onClose={close}>
      <form onSubmit={review}>
        {isNew && (
          <label class="row">
            Address
            <input
              id="member-server"
              value={edited.server}
              placeholder="10.0.0.1:8080"
              required
              onInput={(event) => set({ server: event.currentTarget.value.trim() })}
            />
          </label>
        )}
        <fieldset class="choice">
          <legend>Service</legend>
          {SERVICES.map(([service, text]) => (
            <label key={service} class="switch">
              <input
                type="radio"
                name="service"
                value={service}
                checked={serviceOf(edited) === service}
                onChange={() => set({ down: service === 'down', drain: service === 'drain' })}
              />
              {text}
            </label>
          ))}
        </fieldset>
        <div class="pair">
          {FIELDS.map((name) => (
            <label key={name} class="row">
              {LABELS[name]}
              <input
                id={`member-${name}`}
                value={edited[name]}
                inputMode={typeof member[name] === 'number' ? 'numeric' : 'text'}
                onInput={({ currentTarget: { value } }) =>
                  set({ [name]: typeof member[name] === 'number' && /^\d+$/.test(value) ? Number(value) : value })
                }
              />
            </label>
          ))}
        </div>
        <label class="switch">
          <input type="checkbox" checked={edited.backup} onChange={(event) => set({ backup: event.currentTarget.checked })} />
          Backup: only if no other member is usable
        </label>
        <div class="buttons">
          {!isNew && (
            <button type="button" class="danger first-button" id="member-remove" onClick={remove}>
              Remove
            </button>
          )}
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="primary" id="member-review" disabled={isNew ? edited.server === '' : Object.keys(body).length === 0}>
            Review
          </button>
        </div>
      </form>
    </Modal>
  );
}
