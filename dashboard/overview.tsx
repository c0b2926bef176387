/** The first ten seconds of an incident: what is wrong, since when, what was changed last. Then the figures. */
import { changeActor, changeLines, changeTitle, Diff } from './diff.js';
import { Figures } from './figures.js';
import { clock, count, duration } from './format.js';
import { live } from './live.js';
import { ServersTable, UpstreamsTable } from './overview-tables.js';
import { problemList, sinceText } from './problems.js';
import { Missing, Panel } from './shell.js';
import { Shape } from './state-mark.js';
import { useValue } from './value.js';

const RECENT_CHANGES = 5;
const LISTED = 8;
/** Lines of the difference of the newest change. */
const DIFF_LINES = 6;
export function Overview() {
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <div class="first">
        <Problems />
        <LastChanges />
      </div>
      <Figures />
      <div class="halves">
        <UpstreamsTable />
        <ServersTable />
      </div>
    </>
  );
}

function Problems() {
  const upstreams = useValue(live.upstreams);
  const now = useValue(live.now);
  const problems = useValue(problemList.all);
  const isCounted = Object.keys(useValue(live.statistics)?.servers ?? {}).length > 0;
  const bad = problems.filter(({ level }) => level === 'bad').length;
  const state = bad > 0 ? 'bad' : problems.length > 0 ? 'warn' : upstreams === undefined ? 'note' : 'good';
  return (
    <section class={`panel verdict is-${state}`} aria-labelledby="verdict">
      <header>
        <h2 id="verdict">
          <Shape state={state} />
          {verdict(problems.length, bad, upstreams !== undefined)}
        </h2>
      </header>
      {state === 'good' && (
        <p class="empty">
          {isCounted
            ? 'Every member is usable, no server fails, no limit is full, and no certificate ends soon.'
            : 'Every member is usable, and no certificate ends soon. Errors and times are not counted.'}
        </p>
      )}
      <ul class="problems">
        {problems.slice(0, LISTED).map((problem) => (
          <li key={problem.id}>
            <Shape state={problem.level} />
            <a href={problem.link}>{problem.what}</a>
            <span class="why">{problem.why}</span>
            <span class="since num">{sinceText(problem, now)}</span>
          </li>
        ))}
      </ul>
      {problems.length > LISTED && <p class="more">and {problems.length - LISTED} more</p>}
    </section>
  );
}

function verdict(problems: number, bad: number, isKnown: boolean): string {
  if (problems === 0) return isKnown ? 'Nothing is wrong' : 'Looking …';
  const warnings = problems - bad;
  const parts = [
    ...(bad > 0 ? [bad === 1 ? '1 problem' : `${count(bad)} problems`] : []),
    ...(warnings > 0 ? [warnings === 1 ? '1 warning' : `${count(warnings)} warnings`] : []),
  ];
  return parts.join(', ');
}

function LastChanges() {
  const changes = useValue(live.changes);
  const drift = useValue(live.drift);
  const now = useValue(live.now);
  return (
    <Panel title="Changed last" actions={<a href="#/changes">All changes</a>}>
      {changes === undefined ? (
        <Missing part="changes" />
      ) : changes.length === 0 ? (
        <p class="empty">Nothing was changed since the start.</p>
      ) : (
        <ul class="changes">
          {changes.slice(0, RECENT_CHANGES).map((change) => (
            <li key={change.version}>
              <a href={`#/changes/${change.version}`}>{changeTitle(change)}</a>
              <span class="muted">
                {changeActor(change)}
                {(change.changes?.length ?? 0) > 1 && `, ${count(change.changes?.length ?? 0)} directives`}
              </span>
              <time class="since num" dateTime={change.at} title={clock(change.at, now)}>
                {duration(now - Date.parse(change.at))} ago
              </time>
              {change === changes[0] && <Diff lines={cut(changeLines(change))} />}
            </li>
          ))}
        </ul>
      )}
      {drift !== undefined && drift.length > 0 && (
        <p class="more">
          <a href="#/changes">The files differ from the running configuration</a>
        </p>
      )}
    </Panel>
  );
}

function cut(lines: readonly string[]): readonly string[] {
  return lines.length > DIFF_LINES ? [...lines.slice(0, DIFF_LINES), '…'] : lines;
}
