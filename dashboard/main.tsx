/** The page of the control plane. */
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { live } from './live.js';
import { Overview } from './overview.js';
import { Shell, TokenEntry, type Destination } from './shell.js';
import { Upstreams } from './upstreams.js';
import { useValue } from './value.js';

const PLACES: readonly Destination[] = [
  { id: 'overview', title: 'Overview' },
  { id: 'upstreams', title: 'Upstreams' },
];

/** Parts of the address after `#/`. */
function pathOf(): readonly string[] {
  const parts = location.hash
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '');
  return parts.length === 0 ? ['overview'] : parts.map((part) => decodeURIComponent(part));
}

function Page({ path: [place, ...rest] }: { readonly path: readonly string[] }) {
  return place === 'upstreams' ? <Upstreams path={rest} /> : <Overview />;
}

function App() {
  const phase = useValue(live.phase);
  const connection = useValue(live.connection);
  const [path, setPath] = useState(pathOf);
  useEffect(() => {
    const changed = (): void => setPath(pathOf());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  if (phase === 'locked') return <TokenEntry />;
  if (phase === 'starting')
    return (
      <p class="starting" role="status">
        {connection.reason === '' ? 'Connecting …' : `Connecting: ${connection.reason}`}
      </p>
    );
  const [current = 'overview'] = path;
  return (
    <Shell places={PLACES} current={current}>
      <Page path={path} />
    </Shell>
  );
}

void live.start();
render(<App />, document.querySelector('#app')!);
