import test from 'ava';
import { parseListen } from '../../core/net/listen-options.js';

const addresses = (target: string): string[] => parseListen([target], (path) => path).map(({ address }) => address);

test('an address is one socket for each of its ports', (t) => {
  t.deepEqual(addresses('127.0.0.1:18101-18103'), ['127.0.0.1:18101', '127.0.0.1:18102', '127.0.0.1:18103']);
  t.deepEqual(addresses('18101-18101'), ['0.0.0.0:18101']);
  t.deepEqual(addresses('[::1]:9-10'), ['[::1]:9', '[::1]:10']);
  t.deepEqual(addresses('localhost'), ['127.0.0.1:80']);
  t.deepEqual(addresses('unix:/run/x'), ['unix:/run/x']);
});
