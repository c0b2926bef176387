import type { Request } from '../../request/request.js';

/**
 * True if the connection may serve another request behind this one, by the settings of its location.
 * @param requests requests read on the connection so far
 * @param age milliseconds since it was accepted
 */
export function mayKeepAlive(request: Request, requests: number, age: number): boolean {
  const { settings } = request.location;
  return (
    request.keepAlive &&
    // A client that still waits for 100 has not sent its body: where its next request begins nobody could tell.
    !(request.expectContinue && request.body?.complete === false) &&
    settings.keepaliveTimeout > 0 &&
    requests < settings.keepaliveRequests &&
    age < settings.keepaliveTime
  );
}
