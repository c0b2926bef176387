import { RedisFailure } from '../../core/contract/redis.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import { placeOf, type RedisSettings } from './redis-settings.js';

/** Errors of the client with which it is unknown whether Redis has carried out the command. */
const LOST = /^Command timed out|^Connection is closed|max retries per request|Command aborted/i;
/** Errors of the client with which nothing was sent. */
const NOT_SENT = /isn't writeable and enableOfflineQueue|Cluster isn't ready|Failed to refresh slots cache|All sentinels are unreachable/i;

/** An error of the client in words that say what to do. It has no argument of a command: the client's own errors have the password. */
export function failureOf(error: Error, settings: RedisSettings): RedisFailure {
  if (error instanceof RedisFailure) return error;
  const { message } = error;
  const place = placeOf(settings);
  if (LOST.test(message)) {
    const text = message.startsWith('Command timed out') ? `no reply within ${settings.commandTimeout} ms` : 'the connection was closed';
    return new RedisFailure('lost', `${text} (${place})`);
  }
  if (NOT_SENT.test(message)) return new RedisFailure('away', `no connection (${place})`);
  if (/^(WRONGPASS|NOAUTH)|invalid username-password|invalid password/i.test(message))
    return new RedisFailure('rejected', `Redis rejects the user or the password: check "user" and "password_file" (${place})`);
  // In a script Redis 6.2 puts the place in front of the code: `ERR Error running script (call to f_…): @user_script:2: -NOPERM …`.
  if (/\bNOPERM\b|ACL failure in script|user executing the script can't/.test(message))
    return new RedisFailure('rejected', `the user has no right in Redis (ACL): ${message} (${place})`);
  if (/^Protocol error|^Unknown RESP type/.test(message))
    return new RedisFailure('away', `the server does not speak the protocol of Redis: check "url" (${place})`);
  if (/\bWRONGTYPE\b/.test(message)) {
    const text = `a key of srv has another type in Redis: another program uses the prefix "${settings.prefix}", set another "prefix" (${place})`;
    return new RedisFailure('rejected', text, 'WRONGTYPE');
  }
  if (/^[A-Z]+ /.test(message) && !('code' in error)) return new RedisFailure('rejected', `${message} (${place})`);
  return new RedisFailure('away', `${systemText(error)} (${place})`);
}

/** A name with several addresses has an error for each. */
function systemText(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return systemErrorText(first ?? error);
}
