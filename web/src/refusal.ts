/** Why something does not hold: in words, and by the name that Python's verification and the test vectors have for it. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly reason: string,
  ) {
    super(message);
  }
}
