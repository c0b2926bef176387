import test from 'ava';
import { ListenerDirectory, type ConnectionTaker } from '../../core/net/listener-directory.js';
import type { EngineListener } from '../../core/net/listener-set.js';

/** A directory of two engines with listeners at these addresses; those of datagrams take nothing over. */
function directory(...engines: readonly (readonly string[])[]) {
  const found = new ListenerDirectory();
  const names = new Map<ConnectionTaker, string>();
  for (const addresses of engines) {
    const listeners = new Map<string, Partial<ConnectionTaker>>();
    for (const address of addresses) {
      const listener = { take: () => undefined };
      names.set(listener, address);
      listeners.set(address, address.endsWith(' udp') ? {} : listener);
    }
    found.add({ at: (address) => listeners.get(address) as EngineListener | undefined });
  }
  return (address: Parameters<ListenerDirectory['find']>[0]) => {
    const listener = found.find(address);
    return listener && names.get(listener);
  };
}

const find = directory(
  ['127.0.0.1:80', '0.0.0.0:80', '[::]:80', 'unix:/run/a'],
  ['127.0.0.2:80', '0.0.0.0:81', '0.0.0.0:82 udp', '0.0.0.0:80'],
);

test('a listener of an address comes before one of all addresses, in whichever engine', (t) => {
  t.is(find({ host: '127.0.0.1', port: 80 }), '127.0.0.1:80');
  t.is(find({ host: '127.0.0.2', port: 80 }), '127.0.0.2:80');
  t.is(find({ host: '127.0.0.3', port: 80 }), '0.0.0.0:80');
  t.is(find({ host: '127.0.0.3', port: 81 }), '0.0.0.0:81');
});

test('all addresses are those of one family', (t) => {
  t.is(find({ host: '::1', port: 80 }), '[::]:80');
  t.is(find({ host: '::1', port: 81 }), undefined);
});

test('unix sockets, and what there is not', (t) => {
  t.is(find({ path: '/run/a' }), 'unix:/run/a');
  t.is(find({ path: '/run/b' }), undefined);
  t.is(find({ host: '127.0.0.1', port: 82 }), undefined);
});
