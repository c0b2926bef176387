/** What would become of a request. */
import { useState } from 'preact/hooks';
import { get } from './api.js';
import { CallError } from './event-stream.js';
import { Panel } from './shell.js';
import { State } from './state-mark.js';

interface Explanation {
  readonly listener: { readonly address: string; readonly why: string };
  readonly server?: { readonly name: string; readonly why: string };
  readonly locations: readonly {
    readonly location: string;
    readonly why: string;
    readonly rejected: readonly { readonly location: string; readonly why: string }[];
  }[];
  readonly steps: readonly { readonly phase: string; readonly module?: string; readonly text: string }[];
  readonly upstream?: {
    readonly name: string;
    readonly balancing: string;
    readonly member?: string;
    readonly members: readonly {
      readonly server: string;
      readonly state: string;
      readonly weight: number;
      readonly active: number;
      readonly usable: boolean;
    }[];
  };
  readonly response: { readonly by: string; readonly status?: number; readonly text: string };
  readonly assumptions: readonly unknown[];
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export function Explain() {
  const [url, setUrl] = useState('http://');
  const [method, setMethod] = useState('GET');
  const [client, setClient] = useState('127.0.0.1');
  const [fields, setFields] = useState('');
  const [found, setFound] = useState<Explanation | undefined>(undefined);
  const [error, setError] = useState('');
  const ask = (event: Event): void => {
    event.preventDefault();
    const query = new URLSearchParams([
      ['url', url],
      ['method', method],
      ['client', client],
      ...fields
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line) => ['header', line.trim()]),
    ]);
    get<Explanation>(`/explain?${query.toString()}`).then(
      (explanation) => (setFound(explanation), setError('')),
      (failure: unknown) => (setFound(undefined), setError(failure instanceof CallError ? failure.message : String(failure))),
    );
  };
  return (
    <>
      <h1 class="hidden">Explain</h1>
      <Panel title="What would become of a request?" note="nothing is sent">
        <form class="inset explain" onSubmit={ask}>
          <label class="row narrow">
            Method
            <select value={method} onChange={(event) => setMethod(event.currentTarget.value)}>
              {METHODS.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label class="row wide">
            URL
            <input id="explain-url" value={url} required onInput={(event) => setUrl(event.currentTarget.value)} />
          </label>
          <label class="row">
            Client
            <input value={client} onInput={(event) => setClient(event.currentTarget.value)} />
          </label>
          <label class="row full-row">
            Header fields, one a line
            <textarea rows={2} value={fields} placeholder="Accept: text/html" onInput={(event) => setFields(event.currentTarget.value)} />
          </label>
          <button type="submit" class="primary" id="explain-ask">
            Explain
          </button>
        </form>
      </Panel>
      {error !== '' && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      {found !== undefined && <Found found={found} />}
    </>
  );
}

function Found({ found: { listener, server, locations, steps, upstream, response, assumptions } }: { readonly found: Explanation }) {
  return (
    <Panel title={`Response: ${response.text}`}>
      <dl class="steps">
        <Step name="listener" text={`${listener.address}: ${listener.why}`} />
        {server !== undefined && <Step name="server" text={`${server.name === '' ? 'without a name' : server.name}: ${server.why}`} />}
        {locations.map(({ location, why, rejected }, at) => (
          <Step
            key={at}
            name="location"
            text={`${location}: ${why}`}
            more={rejected.map((other) => `not ${other.location}: ${other.why}`)}
          />
        ))}
        {steps.map(({ phase, module, text }, at) => (
          <Step key={at} name={phase} text={module === undefined ? text : `${text} (${module})`} />
        ))}
        {upstream !== undefined && (
          <>
            <Step
              name="upstream"
              text={`${upstream.name}, ${upstream.balancing}${upstream.member === undefined ? '' : `: ${upstream.member} is chosen`}`}
            />
            <dt>members</dt>
            <dd>
              {upstream.members.map(({ server: address, state, weight, active }) => (
                <p key={address} class="together">
                  <State state={state} /> {address}, weight {weight}, {active} requests
                </p>
              ))}
            </dd>
          </>
        )}
        {assumptions.map((text, at) => (
          <Step key={at} name="assumed" text={typeof text === 'string' ? text : JSON.stringify(text)} />
        ))}
      </dl>
    </Panel>
  );
}

function Step({ name, text, more = [] }: { readonly name: string; readonly text: string; readonly more?: readonly string[] }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {text}
        {more.map((line) => (
          <span key={line} class="muted block">
            {line}
          </span>
        ))}
      </dd>
    </>
  );
}
