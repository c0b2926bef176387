/** The live log: requests and lines of the error log as they come. */
import { useState } from 'preact/hooks';
import { LogLines, useLog } from './log-lines.js';

const KEPT = 300;
const EXAMPLES = ['status>=500', 'time>1s', 'kind=error'];

export function LiveLog() {
  const [text, setText] = useState('');
  const [filter, setFilter] = useState('');
  const [isPaused, setPaused] = useState(false);
  const { entries, error, isOpen, clear } = useLog([filter], KEPT, isPaused);
  const choose = (wanted: string): void => {
    setText(wanted);
    setFilter(wanted);
    clear();
  };
  return (
    <section class="panel full">
      <header>
        <h1>Live log</h1>
        <span class="muted">{isPaused ? 'paused' : `the last ${KEPT} lines`}</span>
        <div class="actions">
          <form class="together" onSubmit={(event) => (event.preventDefault(), choose(text))}>
            <label class="field wide-field">
              <span class="hidden">Filter of the log</span>
              <input
                type="search"
                id="log-filter"
                placeholder="status>=500 server=shop.example"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </label>
            <button type="submit">Filter</button>
          </form>
          {EXAMPLES.map((example) => (
            <button key={example} type="button" class="small quiet mono" onClick={() => choose(example)}>
              {example}
            </button>
          ))}
          <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? 'Continue' : 'Pause'}
          </button>
        </div>
      </header>
      {error !== '' && <p class="empty">Not available: {error}</p>}
      {error === '' && entries.length === 0 && <p class="empty">{isOpen ? 'Waiting for the first line …' : 'Connecting …'}</p>}
      <LogLines entries={entries} label="Lines of the log, the newest first" />
    </section>
  );
}
