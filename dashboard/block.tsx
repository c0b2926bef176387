/** Upstreams, servers and locations are added, changed and removed, as text of their directives. */
import { useState } from 'preact/hooks';
import { Modal } from './modal.js';
import { propose, type ChangeCall } from './proposal.js';
import { useRead } from './read.js';
import type { Engine, Location, VirtualServer } from './types.js';
import { useValue, Value } from './value.js';

interface Field {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly choices?: readonly string[];
  readonly isOptional?: boolean;
}

type Fields = Readonly<Record<string, string>>;

/** A block as the form shows it. */
interface Draft {
  /** What it is: `location /a of shop.example`. */
  readonly title: string;
  /** Path of the API. */
  readonly path: string;
  readonly fields: readonly Field[];
  /** Name of the field with the directives. */
  readonly body: string;
  readonly values: Fields;
  /** It is of the configuration file: the API changes it where it is asked to. */
  readonly isStatic: boolean;
  readonly add?: (values: Fields) => object;
  readonly change?: (values: Fields) => Pick<ChangeCall, 'path' | 'body'>;
  readonly remove?: object;
}

const draft = new Value<Draft | undefined>(undefined);
/** An upstream whose text is read first. */
const upstream = new Value<{ readonly engine: Engine; readonly name: string } | undefined>(undefined);
const close = (): void => {
  draft.set(undefined);
  upstream.set(undefined);
};

const UPSTREAMS: Readonly<Record<Engine, string>> = { http: '/dyn_ups', stream: '/dyn_stream_ups' };
const SERVERS: Readonly<Record<Engine, string>> = { http: '/dyn_srv', stream: '/stream_srv' };
const RULES = ['', '=', '^~', '~', '~*'] as const;

export const LOCATION_KEY = 'dyn_loc';
export const upstreamKey = (engine: Engine): string => UPSTREAMS[engine].slice(1);
export const serverKey = (engine: Engine): string => SERVERS[engine].slice(1);

export function addUpstream(): void {
  draft.set({
    title: 'an upstream',
    path: UPSTREAMS.http,
    fields: [{ name: 'upstream_name', label: 'Name', placeholder: 'shop' }],
    body: 'upstream_body',
    values: { upstream_name: '', upstream_body: 'zone shop 1m;\nserver 10.0.0.1:8080;\n' },
    isStatic: false,
    add: (values) => ({ type: 'add', ...values }),
  });
}

export function editUpstream(engine: Engine, name: string): void {
  upstream.set({ engine, name });
}

export function addServer(): void {
  draft.set({
    title: 'a server',
    path: SERVERS.http,
    fields: [
      { name: 'addr_port', label: 'Address', placeholder: '0.0.0.0:8080' },
      { name: 'server_name', label: 'Names, separated by blanks', placeholder: 'shop.example', isOptional: true },
      { name: 'listen_option', label: 'Options of listen', placeholder: 'ssl', isOptional: true },
    ],
    body: 'server_body',
    values: { addr_port: '', server_name: '', listen_option: '', server_body: 'location / {\n    proxy_pass http://shop;\n}\n' },
    isStatic: false,
    add: (values) => ({ type: 'add', ...Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')) }),
  });
}

export function editServer({
  engine,
  listens: [address = ''],
  server_name: names,
  server_body: text,
  is_static: isStatic,
}: VirtualServer): void {
  const place = placeOf(address, names);
  draft.set({
    title: `server ${names === '' ? address : names}`,
    path: SERVERS[engine],
    fields: [],
    body: 'server_body',
    values: { server_body: text },
    isStatic,
    change: (values) => ({ path: SERVERS[engine], body: { ...place, ...values } }),
    remove: place,
  });
}

const LOCATION_FIELDS: readonly Field[] = [
  { name: 'location_rule', label: 'Rule', choices: RULES, isOptional: true },
  { name: 'location_name', label: 'Path or regular expression', placeholder: '/images' },
];
const PASS: Field = { name: 'proxy_pass', label: 'Passes to', placeholder: 'http://shop', isOptional: true };

export function addLocation({ listens: [address = ''], server_name: names }: VirtualServer): void {
  draft.set({
    title: `a location to ${names === '' ? address : names}`,
    path: `/${LOCATION_KEY}`,
    fields: [...LOCATION_FIELDS, PASS],
    body: 'location_body',
    values: { location_rule: '', location_name: '', proxy_pass: '', location_body: '' },
    isStatic: false,
    add: ({ proxy_pass: pass, ...values }) => ({
      type: 'add',
      ...placeOf(address, names),
      locations: [{ ...values, ...(pass !== '' && { proxy_pass: pass }) }],
    }),
  });
}

export function editLocation(location: Location): void {
  const { addr_port: address, server_name: names, location_rule: rule, location_name: name, location_body: text } = location;
  const place = { ...placeOf(address, names), location_rule: rule, location_name: name };
  const passes = location.proxy_pass;
  draft.set({
    title: `location ${`${rule} ${name}`.trim()} of ${names === '' ? address : names}`,
    path: `/${LOCATION_KEY}`,
    fields: passes === undefined ? [] : [PASS],
    body: 'location_body',
    values: { ...(passes !== undefined && { proxy_pass: passes }), location_body: text },
    isStatic: location.is_static,
    change: (values) => ({ path: `/${LOCATION_KEY}`, body: { ...place, ...values } }),
    remove: place,
  });
}

function placeOf(address: string, names: string): object {
  return { addr_port: address, ...(names !== '' && { server_name: names }) };
}

export function BlockDialog() {
  const current = useValue(draft);
  const named = useValue(upstream);
  if (named !== undefined) return <LoadedUpstream key={JSON.stringify(named)} {...named} />;
  return current === undefined ? null : <Form key={current.title} current={current} />;
}

function LoadedUpstream({ engine, name }: { readonly engine: Engine; readonly name: string }) {
  const path = `${UPSTREAMS[engine]}/${encodeURIComponent(name)}`;
  const { data, error } = useRead<{ readonly upstream_body: string; readonly is_static: boolean }>(path, 3_600_000);
  if (data === undefined)
    return (
      <Modal title={`Upstream ${name}`} onClose={close}>
        <p class="muted">{error === '' ? 'Loading …' : error}</p>
        <div class="buttons">
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </Modal>
    );
  const current: Draft = {
    title: `upstream ${name}`,
    path: UPSTREAMS[engine],
    fields: [],
    body: 'upstream_body',
    values: { upstream_body: data.upstream_body },
    isStatic: data.is_static,
    change: (values) => ({ path, body: values }),
    remove: { upstream_name: name },
  };
  return <Form current={current} />;
}

function Form({ current }: { readonly current: Draft }) {
  const { title, path, fields, body, isStatic, add, change, remove } = current;
  const [values, setValues] = useState(current.values);
  const set = (name: string, value: string): void => setValues({ ...values, [name]: value });
  const changed = Object.fromEntries(Object.entries(values).filter(([name, value]) => current.values[name] !== value));
  const isComplete = fields.every(({ name, isOptional }) => isOptional === true || values[name] !== '');
  const forced = isStatic ? '?force=1' : '';
  const review = (event: Event): void => {
    event.preventDefault();
    close();
    if (add !== undefined) propose({ title: `Add ${title}`, calls: [{ method: 'POST', path, body: add(values) }] });
    else if (change !== undefined) {
      const call = change(changed);
      propose({ title: `Change ${title}`, calls: [{ method: 'PATCH', path: call.path + forced, body: call.body }] });
    }
  };
  const drop = (): void => {
    close();
    propose({ title: `Remove ${title}`, calls: [{ method: 'PUT', path: path + forced, body: { type: 'del', ...remove } }] });
  };
  return (
    <Modal title={add === undefined ? `Edit ${title}` : `Add ${title}`} onClose={close}>
      <form onSubmit={review}>
        {fields.map(({ name, label, placeholder, choices, isOptional }) => (
          <label key={name} class="row">
            {label}
            {choices === undefined ? (
              <input
                id={`block-${name}`}
                value={values[name]}
                placeholder={placeholder}
                required={isOptional !== true}
                spellcheck={false}
                onInput={(event) => set(name, event.currentTarget.value.trim())}
              />
            ) : (
              <select id={`block-${name}`} value={values[name]} onChange={(event) => set(name, event.currentTarget.value)}>
                {choices.map((choice) => (
                  <option key={choice} value={choice}>
                    {choice === '' ? 'beginning of the path' : choice}
                  </option>
                ))}
              </select>
            )}
          </label>
        ))}
        <label class="row">
          Directives
          <textarea
            id="block-body"
            rows={12}
            spellcheck={false}
            value={values[body]}
            onInput={(event) => set(body, event.currentTarget.value)}
          />
        </label>
        {isStatic && <p class="muted">It is of the configuration file: the file stays as it is, and a reload keeps this change.</p>}
        <div class="buttons">
          {remove !== undefined && (
            <button type="button" class="danger first-button" id="block-remove" onClick={drop}>
              Remove
            </button>
          )}
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button
            type="submit"
            class="primary"
            id="block-review"
            disabled={add === undefined ? Object.keys(changed).length === 0 : !isComplete}
          >
            Review
          </button>
        </div>
      </form>
    </Modal>
  );
}
