// What does a call from C++ cost? benches/overhead.c is the same from C: run both in turns.
//
//     c++ -std=c++17 -O2 overhead.cpp -lcloze -o overhead && ./overhead MODEL TEXT CALLS

#include <cloze.hpp>

#include <cstdio>
#include <cstdlib>
#include <ctime>

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    cloze::Model model = cloze::Model::load(argv[1], {{"threads", 1}}).value();
    long calls = std::atol(argv[3]);
    std::vector<float> into(4096);
    (void)model.encode_into({argv[2]}, into.data(), into.size() * sizeof(float)).value();
    std::clock_t begun = std::clock();
    for (long i = 0; i < calls; i++) (void)model.encode_into({argv[2]}, into.data(), into.size() * sizeof(float)).value();
    std::clock_t into_time = std::clock() - begun;
    begun = std::clock();
    for (long i = 0; i < calls; i++) (void)model.encode({argv[2]}).value();
    std::clock_t new_time = std::clock() - begun;
    double each = 1e6 / CLOCKS_PER_SEC / static_cast<double>(calls);
    std::printf("%.2f %.2f\n", static_cast<double>(into_time) * each, static_cast<double>(new_time) * each);
}
