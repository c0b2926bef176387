/** The page of the control plane. */
import { render, type FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { unlocked } from './access.js';
import { BlockDialog } from './block.js';
import { Caches } from './caches.js';
import { Certificates } from './certificates.js';
import { Changes } from './changes.js';
import { Errors } from './errors.js';
import { Explain } from './explain.js';
import { Keys } from './keys.js';
import { Limits } from './limits.js';
import { live } from './live.js';
import { LiveLog } from './log.js';
import { MemberDialog } from './member.js';
import { Nodes } from './nodes.js';
import { Overview } from './overview.js';
import { Proposals } from './proposal.js';
import { Servers } from './servers.js';
import { Settings } from './settings.js';
import { Slow } from './slow.js';
import { Shell, TokenEntry, type Destination } from './shell.js';
import { Upstreams } from './upstreams.js';
import { useValue } from './value.js';

/** What tells about an incident is first. */
const PLACES: readonly (Destination & { readonly page: FunctionComponent<{ readonly path: readonly string[] }> })[] = [
  { id: 'overview', title: 'Overview', page: Overview },
  { id: 'errors', title: 'Errors', page: Errors },
  { id: 'slow', title: 'Slow', page: Slow },
  { id: 'upstreams', title: 'Upstreams', page: Upstreams },
  { id: 'servers', title: 'Servers', page: Servers },
  { id: 'limits', title: 'Limits', page: Limits },
  { id: 'caches', title: 'Caches', page: Caches },
  { id: 'certificates', title: 'Certificates', page: Certificates },
  { id: 'nodes', title: 'Nodes', page: Nodes },
  { id: 'changes', title: 'Changes', page: Changes },
  { id: 'log', title: 'Log', page: LiveLog },
  { id: 'explain', title: 'Explain', page: Explain },
  { id: 'keys', title: 'Keys', page: Keys },
  { id: 'settings', title: 'Settings', page: Settings },
];

/** Parts of the address after `#/`. */
function pathOf(): readonly string[] {
  const parts = location.hash
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '');
  return parts.length === 0 ? ['overview'] : parts.map((part) => decodeURIComponent(part));
}

function App() {
  const phase = useValue(live.phase);
  const connection = useValue(live.connection);
  useValue(unlocked);
  useValue(live.session);
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
  const [current = 'overview', ...rest] = path;
  const { page: Page } = PLACES.find(({ id }) => id === current) ?? PLACES[0]!;
  return (
    <Shell places={PLACES} current={current}>
      <Page path={rest} />
      <MemberDialog />
      <BlockDialog />
      <Proposals />
    </Shell>
  );
}

void live.start();
render(<App />, document.querySelector('#app')!);
