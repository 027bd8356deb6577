/** Cloze in Lucene. The jar of Lucene is yours to add. */
package org.cloze.lucene;
