/** The history: who changed what, why, and back to before it; and what the files do not have. */
import { mayChange } from './access.js';
import { changeActor, changeLines, changeTitle, Diff } from './diff.js';
import { clock, count, duration } from './format.js';
import { live } from './live.js';
import { propose, rollback } from './proposal.js';
import { Missing, Panel } from './shell.js';
import type { Change } from './types.js';
import { useValue } from './value.js';

function save(): void {
  propose({ title: 'Save the changes into the configuration files', calls: [{ method: 'POST', path: '/config/save' }], isAlone: true });
}

export function Changes({ path: [chosen] }: { readonly path: readonly string[] }) {
  const changes = useValue(live.changes);
  const drift = useValue(live.drift);
  useValue(live.session);
  const canSave = mayChange('config') && drift !== undefined && drift.length > 0;
  return (
    <>
      <h1 class="hidden">Changes</h1>
      <Panel title="Changes" note={changes && (changes.length === 50 ? 'the last 50' : count(changes.length))}>
        {changes === undefined ? (
          <Missing part="changes" />
        ) : changes.length === 0 ? (
          <p class="empty">Nothing was changed since the start.</p>
        ) : (
          <ol class="history">
            {changes.map((change) => (
              <ChangeEntry key={change.version} change={change} isOpen={String(change.version) === chosen} />
            ))}
          </ol>
        )}
      </Panel>
      <Panel
        title="Not in the files"
        actions={
          canSave && (
            <button type="button" onClick={save}>
              Save into the files …
            </button>
          )
        }
      >
        {drift === undefined ? (
          <Missing part="drift" />
        ) : drift.length === 0 ? (
          <p class="empty">The files have all that is in effect.</p>
        ) : (
          <div class="inset">
            <Diff lines={drift} />
          </div>
        )}
      </Panel>
    </>
  );
}

function ChangeEntry({ change, isOpen }: { readonly change: Change; readonly isOpen: boolean }) {
  const { version, at, node, diff } = change;
  const now = useValue(live.now);
  return (
    <li>
      <details open={isOpen}>
        <summary>
          <span class="num muted">{version}</span>
          <strong>{changeTitle(change)}</strong>
          <span class="muted">
            {changeActor(change)} on {node}
          </span>
          <time class="since num" dateTime={at}>
            {clock(at, now)}, {duration(now - Date.parse(at))} ago
          </time>
        </summary>
        <div class="inset">
          <Diff lines={changeLines(change)} />
          {diff === undefined && mayChange('history') && (
            <button type="button" class="danger" onClick={() => propose(rollback(version - 1, `Back to before version ${version}`))}>
              Back to before this change …
            </button>
          )}
        </div>
      </details>
    </li>
  );
}
