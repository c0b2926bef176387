/** Settings of servers and locations as JSON, one key at a time. */
import { useState } from 'preact/hooks';
import { mayChange } from './access.js';
import { propose } from './proposal.js';
import { useRead } from './read.js';
import { Panel } from './shell.js';
import { Nothing } from './table.js';

export function Settings({ path: [chosen] }: { readonly path: readonly string[] }) {
  const { data, error } = useRead<readonly string[]>('/config', 60_000);
  return (
    <>
      <h1 class="hidden">Settings</h1>
      <div class="sides">
        <Panel title="Settings">
          {data === undefined ? (
            <Nothing error={error}>Loading …</Nothing>
          ) : (
            <ul class="choices">
              {data.map((key) => (
                <li key={key}>
                  <a href={`#/settings/${key}`} {...(key === chosen && { 'aria-current': 'true' as const })}>
                    {key}
                  </a>
                </li>
              ))}
            </ul>
          )}
        </Panel>
        {chosen === undefined ? (
          <Panel title="Values">
            <p class="empty">Choose a setting: its values in servers and locations are shown here.</p>
          </Panel>
        ) : (
          <Setting key={chosen} name={chosen} />
        )}
      </div>
    </>
  );
}

function Setting({ name }: { readonly name: string }) {
  const { data, error } = useRead<unknown>(`/config/${encodeURIComponent(name)}`, 30_000);
  /** Undefined: not edited. */
  const [edited, setEdited] = useState<string | undefined>(undefined);
  const [problem, setProblem] = useState('');
  const text = edited ?? JSON.stringify(data, undefined, 2);
  const mayEdit = mayChange(name);
  const review = (event: Event): void => {
    event.preventDefault();
    try {
      const body: unknown = JSON.parse(text);
      setProblem('');
      setEdited(undefined);
      propose({ title: `Change ${name}`, calls: [{ method: 'PUT', path: `/config/${encodeURIComponent(name)}`, body }] });
    } catch (failure) {
      setProblem(String(failure));
    }
  };
  return (
    <Panel title={name} note="null removes a value">
      {data === undefined ? (
        <Nothing error={error}>Loading …</Nothing>
      ) : (
        <form class="inset" onSubmit={review}>
          <label class="row">
            <span class="hidden">Values of {name}</span>
            <textarea
              id="setting"
              rows={24}
              spellcheck={false}
              readOnly={!mayEdit}
              value={text}
              onInput={(event) => setEdited(event.currentTarget.value)}
            />
          </label>
          {problem !== '' && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          {mayEdit && (
            <div class="buttons">
              <button type="button" disabled={edited === undefined} onClick={() => setEdited(undefined)}>
                Discard
              </button>
              <button type="submit" class="primary" id="setting-review" disabled={edited === undefined}>
                Review
              </button>
            </div>
          )}
        </form>
      )}
    </Panel>
  );
}
