/**
 * Cloze: BERT-family encoders in your own process.
 *
 * <pre>{@code
 * try (Model model = Model.open(Path.of("models/minilm"))) {
 *     float[][] vectors = model.encode(List.of("How do I reset my password?", "Forgotten credentials"));
 * }
 * }</pre>
 */
package org.cloze;
