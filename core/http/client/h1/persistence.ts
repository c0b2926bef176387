import type { Request } from '../../request/request.js';

/**
 * True if the connection may serve another request after this one, by the settings of its location.
 * @param requests requests read on the connection so far
 * @param age milliseconds since it was accepted
 */
export function mayKeepAlive(request: Request, requests: number, age: number): boolean {
  const { settings } = request.location;
  return (
    request.keepAlive &&
    // A client that still waits for 100 has not sent its body: where its next request begins is unknown.
    !(request.expectContinue && request.body?.complete === false) &&
    settings.keepaliveTimeout > 0 &&
    requests < settings.keepaliveRequests &&
    age < settings.keepaliveTime &&
    !isDisabled(request)
  );
}

const MSIE6 = /^(?!.*Opera).*MSIE [4-6]\.(?!.*SV1)/;
const SAFARI = /^(?!.*(?:Opera|Gecko\/|Chrome\/))(?=.*Mac OS X).*Safari\//;

/** keepalive_disable. The browser is looked for in the whole head first: its fields may have to be parsed again. */
function isDisabled(request: Request): boolean {
  const { keepaliveDisable } = request.location.settings;
  if (request.method === 'POST' && keepaliveDisable.includes('msie6') && request.text.includes('MSIE ')) return isFrom(request, MSIE6);
  return keepaliveDisable.includes('safari') && request.text.includes('Safari/') && isFrom(request, SAFARI);
}

function isFrom(request: Request, browser: RegExp): boolean {
  return browser.test(request.header('user-agent') ?? '');
}
