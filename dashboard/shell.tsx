/** The frame of the page: places to go to, the state of the connection, who is looking. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { needsUnlock, unlock, unlocked } from './access.js';
import { setToken, token } from './api.js';
import { clock, duration } from './format.js';
import { live, OLD_MS } from './live.js';
import { problemList, type SeenProblem } from './problems.js';
import { Shape } from './state-mark.js';
import { useValue } from './value.js';

export interface Destination {
  readonly id: string;
  readonly title: string;
}

export function Shell({
  places,
  current,
  children,
}: {
  readonly places: readonly Destination[];
  readonly current: string;
  readonly children: ComponentChildren;
}) {
  const session = useValue(live.session);
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  useEffect(() => {
    // A reader of screens follows to the new page.
    if (!first.current) {
      scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
    first.current = false;
    document.title = `${places.find(({ id }) => id === current)?.title ?? 'srv'} – ${session?.node ?? 'srv'}`;
  }, [current]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to content
      </a>
      <header class="top">
        <div class="across">
          <div class="brand">
            <img src="icon.svg" width="20" height="20" alt="" />
            <strong>{session?.node}</strong>
            <span class="muted version">srv {session?.srv}</span>
          </div>
          <Pulse />
          <Caller />
        </div>
      </header>
      <nav class="places" aria-label="Pages">
        <div class="across">
          {places.map(({ id, title }) => (
            <a key={id} href={`#/${id}`} {...(id === current && { 'aria-current': 'page' as const })}>
              {title}
              <Marks place={id} />
            </a>
          ))}
        </div>
      </nav>
      <main id="main" tabIndex={-1} ref={main}>
        <Outage />
        {children}
      </main>
    </>
  );
}

/** How many problems a page tells about. */
function Marks({ place }: { readonly place: string }) {
  useValue(problemList.all);
  const problems = problemList.at(place);
  if (problems.length === 0) return null;
  const isBad = problems.some(({ level }: SeenProblem) => level === 'bad');
  return (
    <span class={isBad ? 'mark bad' : 'mark'}>
      {problems.length}
      <span class="hidden"> {problems.length === 1 ? 'problem' : 'problems'}</span>
    </span>
  );
}

interface Freshness {
  /** Why the figures are old; empty: they are of this second. */
  readonly reason: string;
  /** Epoch milliseconds by the clock of this computer: since when. */
  readonly since: number;
}

function useFreshness(): Freshness {
  const connection = useValue(live.connection);
  const statistics = useValue(live.statistics);
  const now = useValue(live.now);
  const age = statistics === undefined ? 0 : now - statistics.now;
  if (connection.reason !== '') return connection;
  return age > OLD_MS ? { reason: 'the server sends no figures', since: Date.now() - age } : { reason: '', since: 0 };
}

function Pulse() {
  const { reason, since } = useFreshness();
  return (
    <div class={reason === '' ? 'pulse' : 'pulse old'}>
      <span class="dot" aria-hidden="true" />
      {reason === '' ? 'live' : `old: ${duration(Date.now() - since)}`}
    </div>
  );
}

/** Above everything else, as long as what is shown is old. The text stays as it is: readers of screens say it once. */
function Outage() {
  const { reason, since } = useFreshness();
  return (
    <div role="status">
      {reason !== '' && (
        <p class="outage">
          <Shape state="bad" />
          <span>
            <strong>{reason[0]?.toUpperCase() + reason.slice(1)}</strong>, since {clock(since, Date.now())}. What is shown here is of then.
            The page tries again by itself.
          </span>
        </p>
      )}
    </div>
  );
}

function Caller() {
  const session = useValue(live.session);
  const isUnlocked = useValue(unlocked);
  if (session === undefined) return null;
  const mayWrite = !session.read_only && (session.scopes === undefined || session.scopes.includes('write'));
  return (
    <div class="caller">
      {needsUnlock() ? (
        <label class="switch">
          <input id="allow-changes" type="checkbox" checked={isUnlocked} onChange={(event) => unlock(event.currentTarget.checked)} />
          Allow changes
        </label>
      ) : (
        <span class="badge">{mayWrite ? 'may change' : 'read-only'}</span>
      )}
      <span class="muted actor">{session.actor}</span>
      {token() !== '' && (
        <button type="button" class="quiet" onClick={() => (setToken(''), live.session.set(undefined), void live.start())}>
          Sign out
        </button>
      )}
    </div>
  );
}

export function TokenEntry() {
  const rejection = useValue(live.rejection);
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    setToken(text.trim());
    void live.start();
  };
  return (
    <main class="entry">
      <form onSubmit={submit}>
        <h1>
          <img src="icon.svg" width="28" height="28" alt="" /> srv
        </h1>
        <label for="token">Token</label>
        <input
          id="token"
          ref={input}
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          aria-describedby="token-note"
        />
        <p id="token-note" class="muted">
          Made with <code>srv token add NAME read</code>, or <code>write</code> to change things. The browser keeps it until this tab is
          closed.
        </p>
        {(token() !== '' || rejection !== '') && (
          <p class="problem" role="alert">
            {rejection}
          </p>
        )}
        <button type="submit" class="primary" disabled={text.trim() === ''}>
          Continue
        </button>
      </form>
    </main>
  );
}

/** A section of a page. */
export function Panel({
  title,
  note,
  actions,
  children,
}: {
  readonly title: string;
  readonly note?: string | undefined;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        {note !== undefined && <span class="muted">{note}</span>}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

/** In the place of a part that this server or this token does not have. */
export function Missing({ part }: { readonly part: string }) {
  const missing = useValue(live.missing);
  const reason = missing.get(part);
  return reason === undefined ? <p class="empty">Loading …</p> : <p class="empty">Not available: {reason}</p>;
}
