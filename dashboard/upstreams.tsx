/** Every upstream with its members: state, why, since when, and figures. */
import { useMemo, useState } from 'preact/hooks';
import { mayChange } from './access.js';
import { addUpstream, editUpstream, upstreamKey } from './block.js';
import { count, duration, ms } from './format.js';
import { live } from './live.js';
import { editMember } from './member.js';
import {
  FailingMembers,
  failingText,
  isReduced,
  isUsable,
  memberSince,
  memberWhy,
  SlowMembers,
  slowText,
  type Slowness,
} from './members.js';
import { Missing } from './shell.js';
import { State } from './state-mark.js';
import type { FailingRow, Peer, Statistics, Upstream } from './types.js';
import { useValue } from './value.js';
import { VirtualTable } from './virtual.js';

const ROW_PX = 36;
const COLUMNS = ['Member', 'State', 'Why', 'Since', 'Weight', 'Active', 'Requests', '5xx', 'Fails', 'Time'] as const;
const NUMBERS = new Set<string>(['Since', 'Weight', 'Active', 'Requests', '5xx', 'Fails', 'Time']);

interface Line {
  readonly upstream: Upstream;
  readonly peer: Peer | undefined;
  readonly slowness: Slowness | undefined;
  readonly failure: FailingRow | undefined;
  /** Members of the upstream. */
  readonly slow: number;
  readonly failing: number;
}

function linesOf(upstreams: readonly Upstream[], statistics: Statistics | undefined, text: string, onlyBroken: boolean): readonly Line[] {
  const [slowMembers, failingMembers] = [new SlowMembers(statistics), new FailingMembers(statistics)];
  const wanted = text.toLowerCase();
  return upstreams.flatMap((upstream): readonly Line[] => {
    const isNamed = upstream.name.toLowerCase().includes(wanted);
    const [slow, failing] = [slowMembers.of(upstream), failingMembers.of(upstream)];
    const counts = { slow: slow.size, failing: failing.size };
    const peers = upstream.peers.filter(
      (peer) =>
        (isNamed || peer.server.includes(wanted) || peer.name.toLowerCase().includes(wanted)) &&
        (!onlyBroken || !isUsable(peer) || slow.has(peer.id) || failing.has(peer.id)),
    );
    if (peers.length === 0 && (onlyBroken || !isNamed)) return [];
    return [
      { upstream, peer: undefined, slowness: undefined, failure: undefined, ...counts },
      ...peers.map((peer) => ({ upstream, peer, slowness: slow.get(peer.id), failure: failing.get(peer.id), ...counts })),
    ];
  });
}

export function Upstreams({ path }: { readonly path: readonly string[] }) {
  const all = useValue(live.upstreams);
  const now = useValue(live.now);
  const statistics = useValue(live.statistics);
  const [text, setText] = useState('');
  const [onlyBroken, setOnlyBroken] = useState(false);
  const [engine, name] = path;
  const chosen = useMemo(
    () => (name === undefined ? all : all?.filter((upstream) => upstream.engine === engine && upstream.name === name)),
    [all, engine, name],
  );
  const troubled = JSON.stringify([statistics?.slow, statistics?.failing]);
  const lines = useMemo(
    () => linesOf(chosen ?? [], statistics, text, onlyBroken),
    // Statistics come each second, with the same slow and failing members mostly.
    [chosen, troubled, text, onlyBroken],
  );
  if (chosen === undefined) return <Missing part="upstreams" />;
  const members = chosen.reduce((sum, { peers }) => sum + peers.length, 0);
  return (
    <section class="panel full">
      <header>
        <h1>{name ?? 'Upstreams'}</h1>
        <span class="muted">
          {count(members)} members{name === undefined && ` of ${count(chosen.length)} upstreams`}
        </span>
        {name !== undefined && <a href="#/upstreams">All upstreams</a>}
        <div class="actions">
          <label class="field">
            <span class="hidden">Filter</span>
            <input
              type="search"
              id="filter"
              placeholder="Name or address"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <label class="switch">
            <input type="checkbox" checked={onlyBroken} onChange={(event) => setOnlyBroken(event.currentTarget.checked)} />
            Only those with a problem
          </label>
          {name === undefined && mayChange(upstreamKey('http')) && (
            <button type="button" class="small" onClick={addUpstream}>
              Add an upstream …
            </button>
          )}
        </div>
      </header>
      {lines.length === 0 ? (
        <p class="empty">{members === 0 ? 'There is no upstream with a zone.' : 'No member matches.'}</p>
      ) : (
        <VirtualTable
          label="Members"
          rows={lines}
          height={ROW_PX}
          head={<Head />}
          id={lineId}
          row={(line, index) =>
            line.peer === undefined ? <Group {...line} index={index} /> : <MemberLine {...line} peer={line.peer} index={index} now={now} />
          }
        />
      )}
    </section>
  );
}

function lineId({ upstream, peer }: Line): string {
  return JSON.stringify([upstream.engine, upstream.name, peer?.id]);
}

function Head() {
  return (
    <div class="cells head" role="row" aria-rowindex={1}>
      {COLUMNS.map((name) => (
        <span key={name} role="columnheader" class={NUMBERS.has(name) ? `num c-${name.toLowerCase()}` : `c-${name.toLowerCase()}`}>
          {name}
        </span>
      ))}
    </div>
  );
}

function Group({ upstream, slow, failing, index }: Pick<Line, 'upstream' | 'slow' | 'failing'> & { readonly index: number }) {
  const { engine, name, peers, queue } = upstream;
  const usable = peers.filter(isUsable).length;
  return (
    <div class="cells group" role="row" aria-rowindex={index + 2}>
      <span role="cell" aria-colspan={COLUMNS.length}>
        <a href={`#/upstreams/${engine}/${encodeURIComponent(name)}`}>{name}</a>
        {engine === 'stream' && <span class="tag">stream</span>}
        <State
          state={usable === 0 ? 'bad' : isReduced(upstream) ? 'warn' : 'up'}
          word={`${count(usable)} of ${count(peers.length)} usable`}
        />
        {failing > 0 && <State state="failing" word={`${count(failing)} failing`} />}
        {slow > 0 && <State state="slow" word={`${count(slow)} slow`} />}
        {queue !== undefined && <span class="muted">{count(queue.size)} waiting</span>}
        {mayChange('upstream_api', name) && (
          <button type="button" class="small quiet" aria-label={`Add a member to ${name}`} onClick={() => editMember(engine, name)}>
            Add …
          </button>
        )}
        {mayChange(upstreamKey(engine), name) && (
          <button type="button" class="small quiet" aria-label={`Edit upstream ${name}`} onClick={() => editUpstream(engine, name)}>
            Edit …
          </button>
        )}
      </span>
    </div>
  );
}

function MemberLine({
  upstream,
  peer,
  slowness,
  failure,
  index,
  now,
}: Pick<Line, 'upstream' | 'slowness' | 'failure'> & { readonly peer: Peer; readonly index: number; readonly now: number }) {
  const { state, since, why } = troubleOf({ upstream, slowness, failure }, peer);
  return (
    <div class="cells" role="row" aria-rowindex={index + 2}>
      <span role="cell" class="c-member" title={peer.name === peer.server ? undefined : peer.name}>
        {mayChange('upstream_api', upstream.name) ? (
          <button type="button" class="quiet member" onClick={() => editMember(upstream.engine, upstream.name, peer.parent ?? peer.id)}>
            {peer.server}
          </button>
        ) : (
          peer.server
        )}
        {peer.backup && <span class="tag">backup</span>}
      </span>
      <span role="cell" class="c-state">
        <State state={state} />
      </span>
      <span role="cell" class="c-why" title={why}>
        {why}
      </span>
      <span role="cell" class="c-since num">
        {since !== undefined && state !== 'up' && duration(now - since)}
      </span>
      <span role="cell" class="c-weight num">
        {count(peer.weight)}
      </span>
      <span role="cell" class="c-active num">
        {count(peer.active)}
      </span>
      <span role="cell" class="c-requests num">
        {count(peer.requests ?? peer.connections)}
      </span>
      <span role="cell" class="c-5xx num">
        {count(Number(peer.responses?.['5xx'] ?? 0))}
      </span>
      <span role="cell" class={peer.fails > 0 ? 'c-fails num warn' : 'c-fails num'}>
        {count(peer.fails)}
      </span>
      <span role="cell" class="c-time num">
        {peer.response_time > 0 ? ms(peer.response_time) : '–'}
      </span>
    </div>
  );
}

/** What is wrong with a member, the worst first. */
function troubleOf({ upstream, slowness, failure }: Pick<Line, 'upstream' | 'slowness' | 'failure'>, peer: Peer) {
  if (isUsable(peer) && failure !== undefined) return { state: 'failing', since: failure.since, why: failingText(failure) };
  if (isUsable(peer) && slowness !== undefined) return { state: 'slow', since: slowness.since, why: slowText(slowness) };
  return { state: peer.state, since: memberSince(live, upstream, peer), why: memberWhy(live, upstream, peer) };
}
