import type { RequestFlow } from '../request/client-stream.js';
import { sendWhole } from '../response/response.js';
import { dropForeignDate, SourceResponse } from '../response/source-response.js';
import { StreamedResponse } from '../response/streamed-response.js';
import { Delay } from './delay.js';
import { respondWithStatus } from './error-response.js';
import { enterBranch, enterLocation, enterNamedLocation, relocate, settleContent } from './phase-runner.js';
import { openSubrequest, startSubrequest } from './subrequest.js';

/** The phases as the rooms below see them. */
export const requestFlow: RequestFlow = {
  reject: respondWithStatus,
  send: sendWhole,
  respond: (request) => new StreamedResponse(request).start(),
  sendFrom: (request, source) => new SourceResponse(request, source).start(),
  sendStored: (request, body) => {
    dropForeignDate(request);
    sendWhole(request, body, undefined);
  },
  subrequest: startSubrequest,
  openSubrequest,
  enterLocation,
  enterNamedLocation,
  settle: settleContent,
  delay: (request, ms) => void (request.owner = new Delay(request, ms)),
  relocate,
  enterBranch,
};
