import test from 'ava';
import { listenIdentity, parseListen } from '../../core/net/listen-options.js';

const addresses = (target: string): string[] => parseListen([target], (path) => path).map(({ address }) => address);

test('an address is one socket for each of its ports', (t) => {
  t.deepEqual(addresses('127.0.0.1:18101-18103'), ['127.0.0.1:18101', '127.0.0.1:18102', '127.0.0.1:18103']);
  t.deepEqual(addresses('18101-18101'), ['0.0.0.0:18101']);
  t.deepEqual(addresses('[::1]:9-10'), ['[::1]:9', '[::1]:10']);
  t.deepEqual(addresses('localhost'), ['127.0.0.1:80']);
  t.deepEqual(addresses('unix:/run/x'), ['unix:/run/x']);
});

const parse = (...args: string[]) => parseListen(args, (path) => path);

test('a unix socket may have permissions of its own', (t) => {
  t.is(parse('unix:/run/x', 'mode=0660')[0]?.mode, 0o660);
  t.is(parse('unix:/run/x', 'mode=600')[0]?.mode, 0o600);
  t.is(parse('unix:/run/x')[0]?.mode, undefined);
  for (const mode of ['660u', '0999', '06600', '', '66', '-660'])
    t.throws(() => parse('unix:/run/x', `mode=${mode}`), { message: `invalid mode "mode=${mode}"` });
  t.throws(() => parse('80', 'mode=0660'), { message: '"mode" is for unix sockets, not for "80"' });
  t.throws(() => parse(`unix:/${'a'.repeat(95)}/x`, 'mode=0660'), { message: /^too long path in the unix domain socket in "unix:/ });
});

test('the address of one node has a name for the other ones', (t) => {
  t.is(parse('127.0.0.1:81', 'node=web')[0]?.address, '127.0.0.1:81');
  t.is(parse('127.0.0.1:81', 'node=web')[0]?.setsSocket, false);
  t.is(listenIdentity(['127.0.0.1:81', 'ssl', 'node=web']), listenIdentity(['127.0.0.1:82', 'node=web']));
  t.not(listenIdentity(['127.0.0.1:81']), listenIdentity(['127.0.0.1:82']));
  t.throws(() => parse('81', 'node='), { message: 'invalid parameter "node="' });
});
