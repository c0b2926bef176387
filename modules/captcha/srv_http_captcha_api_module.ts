import { DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { controlModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const Zone = Type.Object(
  {
    zone: Type.String(),
    size: count('Bytes of the zone.'),
    keys: count('Keys in the zone.'),
    evicted: count('Keys that were dropped because the zone was full.'),
    challenged: count('Requests above the rate that got a challenge.'),
    verified: count('Requests above the rate with the cookie of a solution.'),
    right: count('Right solutions.'),
    wrong: count('Wrong solutions.'),
    rejected: count('Solutions of challenges that had ended, or for another page.'),
  },
  { title: 'CaptchaZone' },
);

const list = {
  summary: 'List the zones of captcha_zone with their figures',
  responses: { 200: Type.Array(Zone) },
  errors: DATA_PLANE_ERRORS,
} as const;

/** Figures of challenges by API: `/v1/captcha`. */
@controlModule({ name: 'srv_http_captcha_api_module', api: 1, key: 'captcha', dataModule: 'srv_http_captcha_module' })
export class CaptchaApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', list)
  async list(call: Call<typeof list>): Promise<Reply> {
    return { status: 200, body: await this.dataPlane.call('captcha.zones', {}, call) };
  }
}
